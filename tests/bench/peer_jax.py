"""The same by per-sample gradients: vmap(grad), compiled by JAX, on confluent-kafka.

    peer_jax.py BROKER TOPIC RECORDS D HIDDEN CLASSES
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

from peer_numpy import timed

ROWS = 4096


def make(d, hidden, classes):
    r = np.random.default_rng(1)

    def slab(scale):
        return {"w1": r.normal(0, scale, (d, hidden)).astype(np.float32),
                "b1": r.normal(0, scale, hidden).astype(np.float32),
                "w2": r.normal(0, scale, (hidden, classes)).astype(np.float32),
                "b2": r.normal(0, scale, classes).astype(np.float32)}

    w, ga, gf = slab(.1), slab(.1), slab(.1)

    def logits(w, x):
        return jax.nn.relu(x @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"]

    def loss(w, x, y):
        return -jax.nn.log_softmax(logits(w, x))[y]

    def dot(a, b):
        return sum(jnp.vdot(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)))

    def one(x):
        """Influences of each label: a gradient each."""
        grads = jax.vmap(lambda y: jax.grad(loss)(w, x, y))(jnp.arange(classes))
        acc = -jax.vmap(lambda g: dot(g, ga))(grads)
        fair = -jax.vmap(lambda g: dot(g, gf))(grads)
        p = jax.nn.softmax(logits(w, x))
        gain = -jnp.sum(p * jnp.where((acc <= 0) & (fair <= 0), fair, 0))
        return gain, -jnp.sum(p * jnp.log(jnp.maximum(p, 1e-30)))

    return jax.jit(jax.vmap(one))


def main():
    broker, topic = sys.argv[1:3]
    records, d, hidden, classes = (int(x) for x in sys.argv[3:7])
    score = make(d, hidden, classes)
    score(np.zeros((ROWS, d), np.float32))[0].block_until_ready()  # compiles

    def work(x):
        for at in range(0, len(x), ROWS):  # one shape only, so that nothing is compiled again
            rows = x[at:at + ROWS]
            if len(rows) < ROWS:
                rows = np.concatenate([rows, np.zeros((ROWS - len(rows), d), np.float32)])
            gain, entropy = score(rows)
            np.asarray(gain), np.asarray(entropy)

    timed(broker, topic, records, d, work)


if __name__ == "__main__":
    main()
