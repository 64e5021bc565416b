"""Expected values of the vision transformer, by flax and optax: vit.txt.

    pip install 'jax[cpu]' flax optax; python tests/golden/make_vit.py > tests/golden/vit.txt

For a transformer with the mean over its tokens and one with a class token: parameters in the order
of fis/network.h, images, labels, logits, loss, its gradient, a direction that covers the last two
dense layers, each candidate's influence on it for every label, and the parameters after ten steps
of SGD (Nesterov) and of AdamW with warm-up and cosine decay, all on the same batch.
"""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

H, W, C, P, D, DEPTH, HEADS, MLP, HIDDEN, K, N = 8, 12, 3, 4, 8, 2, 2, 12, 6, 3, 5
STEPS, WARM_UP, DECAY_STEPS = 10, 3, 12


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm(name="norm1")(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS, name="attention")(y, y)
        y = nn.LayerNorm(name="norm2")(x)
        y = nn.gelu(nn.Dense(MLP, name="up")(y))
        return x + nn.Dense(D, name="down")(y)


class Transformer(nn.Module):
    token: bool

    @nn.compact
    def __call__(self, x):
        n = x.shape[0]
        x = x.reshape(n, H // P, P, W // P, P, C).transpose(0, 1, 3, 2, 4, 5).reshape(n, -1, P * P * C)
        x = nn.Dense(D, name="patch")(x)
        if self.token:
            token = self.param("token", nn.initializers.normal(0.5), (1, 1, D))
            x = jnp.concatenate([jnp.tile(token, (n, 1, 1)), x], axis=1)
        x = x + self.param("position", nn.initializers.normal(0.5), (1, x.shape[1], D))
        for i in range(DEPTH):
            x = Block(name=f"block{i}")(x)
        x = nn.LayerNorm(name="norm")(x)
        x = x[:, 0] if self.token else x.mean(axis=1)
        x = nn.relu(nn.Dense(HIDDEN, name="dense0")(x))
        return nn.Dense(K, name="dense1")(x)


def slab(p, token):
    """Parameters, or a gradient, in the order of the slab."""
    p = p["params"]
    parts = [p["patch"]["kernel"], p["patch"]["bias"]] + ([p["token"]] if token else []) + [p["position"]]
    for i in range(DEPTH):
        b, a = p[f"block{i}"], p[f"block{i}"]["attention"]
        parts += [b["norm1"]["scale"], b["norm1"]["bias"]]
        parts += [np.concatenate([np.asarray(a[k]["kernel"]).reshape(D, D) for k in ("query", "key", "value")], axis=1)]
        parts += [np.concatenate([np.asarray(a[k]["bias"]).reshape(D) for k in ("query", "key", "value")])]
        parts += [a["out"]["kernel"], a["out"]["bias"], b["norm2"]["scale"], b["norm2"]["bias"]]
        parts += [b["up"]["kernel"], b["up"]["bias"], b["down"]["kernel"], b["down"]["bias"]]
    parts += [p["norm"]["scale"], p["norm"]["bias"]]
    for i in range(2):
        parts += [p[f"dense{i}"]["kernel"], p[f"dense{i}"]["bias"]]
    return np.concatenate([np.asarray(x, np.float64).ravel() for x in parts])


def put(name, values):
    values = np.asarray(values, np.float64).ravel()
    print(name, len(values))
    print(" ".join(f"{v:.8g}" for v in values))


def steps(optimizer, params, loss):
    state = optimizer.init(params)
    for _ in range(STEPS):
        updates, state = optimizer.update(jax.grad(loss)(params), state, params)
        params = optax.apply_updates(params, updates)
    return params


def case(token, seed):
    rng = np.random.default_rng(seed)
    model = Transformer(token)
    x = rng.normal(size=(N, H, W, C)).astype(np.float32)
    y = rng.integers(0, K, N)
    params = model.init(jax.random.PRNGKey(seed), x)
    # Biases and scales that are not 0 and 1.
    params = jax.tree.map(lambda w: w + 0.2 * rng.normal(size=w.shape).astype(np.float32), params)

    def loss(p):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x), y).mean()

    put("token", [int(token)])
    put("params", slab(params, token))
    put("x", x)
    put("y", y)
    put("logits", model.apply(params, x))
    put("loss", [loss(params)])
    put("gradient", slab(jax.grad(loss)(params), token))

    def candidate(p, i, k):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x[i : i + 1]), jnp.array([k])).mean()

    covered = HIDDEN * (D + 1) + K * (HIDDEN + 1)
    direction = rng.normal(size=covered)
    put("direction", direction)
    grads = [[slab(jax.grad(candidate)(params, i, k), token)[-covered:] for k in range(K)] for i in range(N)]
    put("influence", [[-np.dot(g, direction) for g in row] for row in grads])
    sgd = optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(0.05, momentum=0.9, nesterov=True))
    put("sgd", slab(steps(sgd, params, loss), token))
    # Rate of step i (from 0): a linear warm-up to the peak, then half a cosine to 0.
    rate = lambda i: 1e-2 * jnp.where(
        i < WARM_UP, (i + 1) / WARM_UP, 0.5 * (1 + jnp.cos(jnp.pi * (i - WARM_UP) / (DECAY_STEPS - WARM_UP))))
    put("adamw", slab(steps(optax.adamw(rate, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.05), params, loss), token))


case(False, 1)
case(True, 2)
