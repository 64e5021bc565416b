/* Boosted trees as one TreeEnsembleRegressor. A subtree whose leaves are all alike is one leaf. */
#include "wire/onnx_impl.h"

struct walk {
    const struct fis_trees_shape *shape;
    const uint32_t *feature; /* of the tree */
    const float *threshold, *leaf;
    const uint32_t *place;
    uint32_t tree;
    size_t n, n_leaves; /* nodes so far, of all trees; leaves of them */
    int64_t *tree_of, *node, *asks, *yes, *no, *leaf_tree, *leaf_node, *target;
    ProtobufCBinaryData *mode;
    float *value, *weight;
};

static bool alike(const struct walk *w, uint32_t at, uint32_t level)
{
    uint32_t width = 1u << (w->shape->depth - level), first = at;
    for (uint32_t l = level; l < w->shape->depth; l++)
        first = 2 * first + 1;
    const float *leaf = w->leaf + (first - ((1u << w->shape->depth) - 1));
    for (uint32_t i = 1; i < width; i++)
        if (leaf[i] != leaf[0])
            return false;
    return true;
}

static float leaf_of(const struct walk *w, uint32_t at)
{
    uint32_t nodes = (1u << w->shape->depth) - 1;
    while (at < nodes)
        at = 2 * at + 1;
    return w->leaf[at - nodes];
}

/* Writes the subtree, or only counts it where there are no arrays; its number in the tree. */
static int64_t subtree(struct walk *w, uint32_t at, uint32_t level, size_t root)
{
    size_t i = w->n++;
    int64_t id = (int64_t)(i - root);
    bool is_leaf = alike(w, at, level);
    if (is_leaf && w->node) {
        size_t l = w->n_leaves;
        w->mode[i] = onnx_bytes("LEAF");
        w->leaf_tree[l] = w->tree;
        w->leaf_node[l] = id;
        w->target[l] = w->tree % w->shape->margins;
        w->weight[l] = leaf_of(w, at);
    }
    if (w->node) {
        w->tree_of[i] = w->tree;
        w->node[i] = id;
    }
    if (is_leaf) {
        w->n_leaves++;
        return id;
    }
    int64_t yes = subtree(w, 2 * at + 1, level + 1, root);
    int64_t no = subtree(w, 2 * at + 2, level + 1, root);
    if (w->node) {
        w->mode[i] = onnx_bytes("BRANCH_LT");
        w->asks[i] = w->place[w->feature[at]];
        w->value[i] = w->threshold[at];
        w->yes[i] = yes;
        w->no[i] = no;
    }
    return id;
}

static void all(struct walk *w, const struct fis_trees *trees)
{
    uint32_t nodes = (1u << w->shape->depth) - 1;
    w->n = w->n_leaves = 0;
    for (w->tree = 0; w->tree < w->shape->n; w->tree++) {
        w->feature = fis_trees_features(trees) + (size_t)w->tree * nodes;
        w->threshold = fis_trees_thresholds(trees) + (size_t)w->tree * nodes;
        w->leaf = fis_trees_leaves(trees) + ((size_t)w->tree << w->shape->depth);
        subtree(w, 0, 0, w->n);
    }
}

static bool make_room(struct onnx_graph *g, struct walk *w)
{
    size_t n = w->n, leaves = w->n_leaves;
    int64_t **const of_nodes[] = {&w->tree_of, &w->node, &w->asks, &w->yes, &w->no};
    int64_t **const of_leaves[] = {&w->leaf_tree, &w->leaf_node, &w->target};
    for (size_t i = 0; i < 5; i++)
        *of_nodes[i] = onnx_take(g, n, sizeof(int64_t));
    for (size_t i = 0; i < 3; i++)
        *of_leaves[i] = onnx_take(g, leaves, sizeof(int64_t));
    w->mode = onnx_take(g, n, sizeof *w->mode);
    w->value = onnx_take(g, n, sizeof *w->value);
    w->weight = onnx_take(g, leaves, sizeof *w->weight);
    return !g->failed;
}

const char *onnx_trees(struct onnx_making *x, const struct fis_trees *trees, const char *features)
{
    struct onnx_graph *g = &x->g;
    struct walk w = {.shape = fis_trees_shape(trees), .place = x->place};
    all(&w, trees);
    if (!make_room(g, &w))
        return NULL;
    all(&w, trees);
    onnx_node *node =
        onnx_apply(g, "ai.onnx.ml:TreeEnsembleRegressor", ONNX_NAME("trees"), features);
    onnx_set_int(g, node, "n_targets", w.shape->margins);
    onnx_set_ints(g, node, "nodes_treeids", w.tree_of, w.n);
    onnx_set_ints(g, node, "nodes_nodeids", w.node, w.n);
    onnx_set_ints(g, node, "nodes_featureids", w.asks, w.n);
    onnx_set_texts(g, node, "nodes_modes", w.mode, w.n);
    onnx_set_floats(g, node, "nodes_values", w.value, w.n);
    onnx_set_ints(g, node, "nodes_truenodeids", w.yes, w.n);
    onnx_set_ints(g, node, "nodes_falsenodeids", w.no, w.n);
    onnx_set_ints(g, node, "target_treeids", w.leaf_tree, w.n_leaves);
    onnx_set_ints(g, node, "target_nodeids", w.leaf_node, w.n_leaves);
    onnx_set_ints(g, node, "target_ids", w.target, w.n_leaves);
    onnx_set_floats(g, node, "target_weights", w.weight, w.n_leaves);
    return ONNX_NAME("trees");
}
