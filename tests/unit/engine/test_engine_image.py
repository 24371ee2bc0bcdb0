"""Which engine an image has by its name, and which engine a service gets."""

from typing import Any

import pytest
from tests.unit.builders import make_spec, make_state

from specdec_engine.engine_image import EngineImage, engine_image, public_image
from specdec_engine.version import IMAGES
from specdec_operator import __version__
from specdec_operator.api.spec import Owner
from specdec_operator.engine.image import choose_engine
from specdec_operator.guard.decisions import Rollback
from specdec_operator.guard.state import Phase
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import Plan, plan
from specdec_operator.staging.kserve import KServe

DIGEST = f"@sha256:{'0' * 64}"
KNOWN = "e4f88a835143cd22aee2397a26ec6bb80b3a4a6fe0c882bcbc63822904766089"
STOCK = "docker.io/vllm/vllm-openai:v0.15.1"


@pytest.mark.parametrize(
    ("image", "version", "certain"),
    [
        (STOCK, "0.15.1", True),
        ("vllm/vllm-openai:0.15.1", "0.15.1", True),
        (f"mirror.example:5000/hub/vllm/vllm-openai:v0.22.0-cu130{DIGEST}", "0.22.0", True),
        ("vllm/vllm-openai:v0.11.0rc2", "0.11.0", True),
        ("vllm/vllm-openai:v0.10.1.1", "0.10.1", True),
        ("vllm/vllm-openai:v0.6.6.post1", "0.6.6", True),
        ("quay.io/ascend/vllm-ascend:v0.18.0rc1-a3-openeuler", "0.18.0", True),
        ("quay.io/ascend/vllm-ascend:v0.23.0-310p", "0.23.0", True),
        ("public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.32.0", "0.32.0", True),
        ("registry.example/deep-learning-containers/vllm:0.11.0-gpu-py312", "0.11.0", True),
        ("rocm/vllm:rocm6.4.1_vllm_0.11.1_20251020", "0.11.1", True),
        ("registry.example/specdec-runtime:nvidia-0.31.0-0.1.0", "0.31.0", True),
        ("registry.example/team/vllm-patched:0.20.2-7", "0.20.2", False),
        ("registry.example/team/my.vllm:v0.20", "0.20", False),
        ("vllm/vllm-openai:v0.15.1-cu129", "0.15.1", True),
        ("localhost:5000/vllm-openai:v0.28.0-x86_64", "0.28.0", True),
        ("vllm/vllm-openai:v0.22.0.post1-aarch64", "0.22.0", True),
        ("quay.io/ascend/vllm-ascend:v0.18.0rc1-a3", "0.18.0", True),
        ("mirror.example:443/ascend/vllm-ascend:v0.20.2rc1-310p-openeuler", "0.20.2", True),
        ("vllm/vllm-openai-rocm:v0.16.0", "0.16.0", False),
        (f"vllm/vllm-openai@sha256:{KNOWN}", "0.25.1", True),
        (f"mirror.example:5000/hub/llm@sha256:{KNOWN}", "0.25.1", True),
        (f"vllm/vllm-openai:v0.28.0@sha256:{KNOWN}", "0.25.1", True),
    ],
)
def test_a_release_is_read_from_the_tag(image: str, version: str, certain: bool) -> None:
    seen = engine_image(image)
    assert (seen.version, seen.certain) == (version, certain)


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai",
        "vllm/vllm-openai:latest",
        "vllm/vllm-openai:nightly-0a1b2c3d",
        f"vllm/vllm-openai{DIGEST}",
        "mirror.example:5000/vllm/vllm-openai",
        "lmcache/vllm-openai:v0.3.9",
        "nvcr.io/nvidia/vllm:25.09-py3",
        "registry.example/vllm-cuda-rhel9:3.2.1",
        "registry.example/team/llm-server:v0.20.0",
        "kserve/huggingfaceserver:v0.15.0-gpu",
        "vllm/vllm-openai:v0.15.1234",
        "vllm/vllm-openai:cu130-nightly",
        "vllm/vllm-openai:nightly-0123456789abcdef0123456789abcdef01234567",
        "vllm/vllm-openai:qwen3_5",
        "vllm/vllm-openai:0123456789abcdef0123456789abcdef01234567",
        "quay.io/ascend/vllm-ascend:main-310p",
        "quay.io/ascend/vllm-ascend:nightly-a3",
        f"registry.example/{KNOWN}",
        "",
    ],
)
def test_other_tags_show_nothing(image: str) -> None:
    """A version of another project's, a moving tag or a digest is not the engine's version."""
    assert engine_image(image).version == ""


def test_an_image_may_show_what_it_is_built_for() -> None:
    assert engine_image("mirror.example/vllm-ascend:v0.23.0").accelerator == "ascend"
    assert engine_image("vllm/vllm-openai:v0.33.0") == EngineImage(version="0.33.0", certain=True)


@pytest.mark.parametrize(
    ("engine", "build", "image", "rules"),
    [
        ({}, f"vllm {IMAGES['nvidia']}", "", []),
        ({"version": IMAGES["nvidia"]}, f"vllm {IMAGES['nvidia']}", "", []),
        ({"version": "0.33"}, f"vllm {IMAGES['nvidia']}", "", []),
        ({"image": STOCK}, "vllm 0.15.1", STOCK, []),
        ({"image": STOCK, "version": "0.15"}, "vllm 0.15.1", STOCK, []),
        ({"image": STOCK, "version": "v0.15.1"}, "vllm 0.15.1", STOCK, []),
        ({"image": STOCK, "version": "0.33.0"}, "vllm 0.15.1", STOCK, ["IMAGE-VERSION"]),
        ({"version": "0.19.1"}, "vllm 0.19.1", "docker.io/vllm/vllm-openai:v0.19.1", ["IMAGE-OF-VERSION"]),
        (
            {"accelerator": "ascend", "version": "0.11.0"},
            "vllm-ascend 0.11.0",
            "quay.io/ascend/vllm-ascend:v0.11.0",
            ["IMAGE-OF-VERSION"],
        ),
        ({"version": "0.19.1", "runtime": "mine"}, "vllm 0.19.1", "", ["IMAGE-VERSION-UNKNOWN"]),
        ({"image": "acme/llm:7"}, f"vllm {IMAGES['nvidia']}", "acme/llm:7", ["IMAGE-VERSION-UNKNOWN"]),
        ({"image": "acme/llm:7", "version": "0.22.0"}, "vllm 0.22.0", "acme/llm:7", ["IMAGE-VERSION-UNKNOWN"]),
        ({"image": "acme/vllm-x:0.20.2"}, "vllm 0.20.2", "acme/vllm-x:0.20.2", []),
        (
            {"image": "acme/vllm-x:0.20.2", "version": "0.33.0"},
            "vllm 0.33.0",
            "acme/vllm-x:0.20.2",
            ["IMAGE-VERSION-LIKELY"],
        ),
        ({"image": "vllm-ascend:v0.23.0"}, "vllm 0.23.0", "vllm-ascend:v0.23.0", ["IMAGE-ACCELERATOR"]),
    ],
)
def test_the_engine_is_that_of_the_image(engine: dict[str, Any], build: str, image: str, rules: list[str]) -> None:
    """Also if spec.engine.version differs: nothing is rendered that the image does not know."""
    chosen = choose_engine(engine)
    assert (str(chosen.build), chosen.image, [each.rule.id for each in chosen.findings]) == (build, image, rules)


def test_a_difference_is_refused_with_both_versions() -> None:
    (found,) = choose_engine({"image": STOCK, "version": "0.33.0"}).findings
    assert found.field == "spec.engine.version"
    assert all(each in found.message for each in ("0.15.1", "0.33.0", STOCK))


def test_an_image_of_this_project_has_what_its_release_has() -> None:
    own = f"registry.example/specdec-runtime:nvidia-{__version__}"
    assert choose_engine({"image": own}).findings == ()
    assert [each.rule.id for each in choose_engine({"image": own, "version": "0.19.1"}).findings] == ["IMAGE-VERSION"]


def test_the_image_that_replaces_a_runtime_counts_as_the_image() -> None:
    """For services that name no image and no runtime."""
    replaced = "registry.example/vllm/vllm-openai:v0.31.0"
    assert str(choose_engine({}, runtime_image=replaced).build) == "vllm 0.31.0"
    assert choose_engine({"version": "0.31.0"}, runtime_image=replaced).findings == ()
    assert choose_engine({"version": "0.30.0"}, runtime_image="registry.example/ours:3").image == ""
    assert str(choose_engine({"runtime": "mine"}, runtime_image=replaced).build) == f"vllm {IMAGES['nvidia']}"


@pytest.mark.parametrize(
    ("accelerator", "version", "image"),
    [
        ("nvidia", "v0.19", "docker.io/vllm/vllm-openai:v0.19.0"),
        ("ascend", "0.22.1", "quay.io/ascend/vllm-ascend:v0.22.1rc1"),
        ("ascend", "0.11.0rc2", "quay.io/ascend/vllm-ascend:v0.11.0rc2"),
        ("cpu", "0.31.0", "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.31.0"),
    ],
)
def test_the_public_image_of_a_version(accelerator: Any, version: str, image: str) -> None:
    assert public_image(accelerator, version) == image


def planned(rolled_back: Rollback | None = None, kserve: KServe | None = None, **engine: Any) -> Plan:
    speculation = {"method": "ngram", "tokens": 3}
    state = make_state(phase=Phase.SERVING, rollback=rolled_back)
    return plan(make_spec(engine=engine, speculation=speculation), state, name="llama", kserve=kserve)


def container(planned: Plan) -> Any:
    owner = Owner(name="llama", namespace="team-a", uid="u-1")
    return render(planned, owner).manifest["spec"]["predictor"]["model"]


def test_pods_of_a_version_that_the_runtime_does_not_have_run_its_public_image() -> None:
    """With specdec_runtime injected, and with the flags of this version."""
    model = container(planned(version="0.17.1"))
    assert model["image"] == "docker.io/vllm/vllm-openai:v0.17.1"
    assert not any(each.startswith("--shutdown-timeout") for each in model["args"])
    assert container(planned(image=STOCK))["image"] == STOCK
    assert not any(each.startswith("--shutdown-timeout") for each in container(planned(image=STOCK))["args"])


def test_a_rollback_is_never_refused_for_a_version_and_has_the_flags_of_the_image() -> None:
    wrong = {"image": STOCK, "version": "0.33.0"}
    assert [each.rule.id for each in planned(**wrong).refused] == ["IMAGE-VERSION"]
    back = planned(Rollback(reason="Asked", message="", at=0.0), **wrong)
    assert back.refused == ()
    assert not any(each.startswith("--shutdown-timeout") for each in container(back)["args"])


def test_a_cluster_with_replaced_runtimes_keeps_them() -> None:
    """The version then decides rules and flags alone, as the image does not show it."""
    kserve = KServe(images=(("nvidia", "registry.example/ours:3"),))
    made = planned(kserve=kserve, version="0.17.1")
    assert "image" not in container(made)
    assert str(made.build) == "vllm 0.17.1"
