"""hack.images.sbom: what counts as a software bill of materials."""

import json
import subprocess

import pytest
from hack.images import content, sbom

GOOD = {
    "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "version": 1,
    "components": [{"type": "library", "name": "vllm", "version": "0.33.0", "purl": "pkg:pypi/vllm@0.33.0"}],
}


def test_a_document_with_components_passes() -> None:
    assert sbom.fault_of(json.dumps(GOOD)) == ""


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"components": []}, "no components"),
        ({"specVersion": "1.4"}, "specVersion is not 1.6"),
        ({"components": [{"type": "wheel", "name": "vllm"}]}, "wheel"),
        ({"components": [{"type": "library"}]}, "name"),
        ({"packages": []}, "packages"),
    ],
)
def test_another_document_fails_and_the_fault_is_reported(change: dict[str, object], fault: str) -> None:
    assert fault in sbom.fault_of(json.dumps(GOOD | change))


def test_a_text_that_is_not_json_is_reported() -> None:
    assert sbom.fault_of("bomFormat: CycloneDX").startswith("no JSON: ")


def test_the_scripts_of_the_builds_can_be_read_by_a_shell() -> None:
    scripts = sorted((content.ROOT / "hack/images").rglob("*.sh"))
    assert len(scripts) == 3
    for script in scripts:
        assert subprocess.run(["sh", "-n", script], check=False).returncode == 0, script
