"""How many parameters a model of a given shape has, for models whose weights were not seen."""

from dataclasses import dataclass

from specdec_operator.engine.memory.shape import Experts, Latent, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Counts by how they are stored and shared out.

    linear: attention, dense and shared layers, norms. experts: routed experts.
    embeddings: input table and output head, which quantisation leaves alone.
    """

    linear: int
    experts: int = 0
    embeddings: int = 0


def count_all(shape: Shape) -> Parameters:
    """A whole model. Gated feed-forward layers are assumed; biases and vision or audio towers are left out."""
    embeddings = shape.vocab * shape.hidden * (1 if shape.tied else 2)
    body = count_layers(shape, shape.layers, shape.experts.layers if shape.experts else 0)
    return Parameters(linear=body.linear + shape.hidden, experts=body.experts, embeddings=embeddings)


def count_layers(shape: Shape, layers: int, with_experts: int) -> Parameters:
    """Decoder layers, of which `with_experts` have routed experts instead of one dense feed-forward."""
    per_layer = _attention(shape) + 2 * shape.hidden
    linear = layers * per_layer + (layers - with_experts) * 3 * shape.hidden * shape.intermediate
    if shape.experts is None:
        return Parameters(linear=linear)
    shared, routed = _expert_layer(shape.hidden, shape.experts)
    return Parameters(linear=linear + with_experts * shared, experts=with_experts * routed)


def _expert_layer(hidden: int, experts: Experts) -> tuple[int, int]:
    """Parameters of one layer's router and shared experts, and of its routed ones."""
    return hidden * experts.count + 3 * hidden * experts.shared, 3 * hidden * experts.size * experts.count


def _attention(shape: Shape) -> int:
    if shape.latent is not None:
        return _latent_attention(shape, shape.latent)
    return 2 * shape.hidden * shape.head_dim * (shape.heads + shape.kv_heads)


def _latent_attention(shape: Shape, latent: Latent) -> int:
    queries = shape.heads * (latent.nope + latent.rope)
    down_up = latent.q_rank * (shape.hidden + queries) if latent.q_rank else shape.hidden * queries
    keys_values = shape.hidden * (latent.kv_rank + latent.rope)
    expanded = latent.kv_rank * shape.heads * (latent.nope + latent.value)
    return down_up + keys_values + expanded + shape.heads * latent.value * shape.hidden
