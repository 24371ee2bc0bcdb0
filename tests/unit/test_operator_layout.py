"""Volumes and mounts: one volume for each claim, because two volumes of one claim never mount."""

from specdec_operator.staging.layout import Mount, volume_mounts, volumes

TARGET = Mount(claim="a", folder="t", path="/mnt/target/model")


def test_two_folders_of_one_claim_share_its_volume() -> None:
    """Each is a sub-path; nothing is writable."""
    both = (TARGET, Mount(claim="a", folder="d/e", path="/mnt/draft/model"))
    assert volumes(both) == [{"name": "models", "persistentVolumeClaim": {"claimName": "a", "readOnly": True}}]
    assert volume_mounts(both) == [
        {"name": "models", "mountPath": "/mnt/target/model", "readOnly": True, "subPath": "t"},
        {"name": "models", "mountPath": "/mnt/draft/model", "readOnly": True, "subPath": "d/e"},
    ]


def test_two_claims_are_two_volumes() -> None:
    """A whole claim needs no sub-path."""
    both = (TARGET, Mount(claim="b", folder="", path="/mnt/draft/model"))
    assert [(each["name"], each["persistentVolumeClaim"]["claimName"]) for each in volumes(both)] == [
        ("models", "a"),
        ("models-1", "b"),
    ]
    assert volume_mounts(both)[1] == {"name": "models-1", "mountPath": "/mnt/draft/model", "readOnly": True}
