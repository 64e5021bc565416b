"""Training steps of the transformer of docs/images.md by flax and optax, compiled by JAX, on one thread.

    peer_flax.py            for each line of standard input that many steps: the milliseconds of
                            processor time of each, on a line
"""

import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import flax.linen as nn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

SIDE, CHANNELS, PATCH, WIDTH, DEPTH, HEADS, MLP, HIDDEN, CLASSES = 64, 3, 8, 64, 4, 4, 128, 64, 2
BATCH = 128


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS)(y, y)
        return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(MLP)(nn.LayerNorm()(x))))


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, x):
        n, side = x.shape[0], SIDE // PATCH
        x = x.reshape(n, side, PATCH, side, PATCH, CHANNELS).transpose(0, 1, 3, 2, 4, 5)
        x = nn.Dense(WIDTH)(x.reshape(n, side * side, PATCH * PATCH * CHANNELS))
        x = x + self.param("position", nn.initializers.normal(0.02), (1, side * side, WIDTH))
        for _ in range(DEPTH):
            x = Block()(x)
        x = nn.LayerNorm()(x).mean(axis=1)
        return nn.Dense(CLASSES)(nn.relu(nn.Dense(HIDDEN)(x)))


def main():
    dice = np.random.default_rng(1)
    x = jnp.asarray(dice.normal(size=(BATCH, SIDE, SIDE, CHANNELS)).astype(np.float32))
    y = jnp.asarray(dice.integers(0, CLASSES, BATCH))
    model, optimizer = Transformer(), optax.adamw(1e-3, weight_decay=.05)
    params = model.init(jax.random.PRNGKey(0), x)

    @jax.jit
    def step(params, state):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x), y).mean()
        updates, state = optimizer.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    state = optimizer.init(params)
    for _ in range(3):  # compiled and warm
        params, state = jax.block_until_ready(step(params, state))
    for line in sys.stdin:
        took = []
        for _ in range(int(line)):
            begin = time.process_time()
            params, state = jax.block_until_ready(step(params, state))
            took.append(1e3 * (time.process_time() - begin))
        print(" ".join(f"{t:.3f}" for t in took), flush=True)


if __name__ == "__main__":
    main()
