"""The place of an artifact, out of its URI and path, and what is refused with an error before anything is made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.specs import URIS

from specdec_operator.errors import Invalid
from specdec_operator.staging.schemes import ArtifactKind
from specdec_operator.staging.source import ArtifactSource, source

FIELD = "spec.model"
DIGEST = f"@sha256:{'0a' * 32}"


def read(uri: str, path: str | None = None) -> ArtifactSource:
    return source(FIELD, uri, path)


def refusal(uri: str, path: str | None = None) -> Invalid:
    with pytest.raises(Invalid) as refused:
        read(uri, path)
    assert refused.value.reason == "InvalidSpec"
    return refused.value


@pytest.mark.parametrize(
    ("uri", "kind", "place", "folder"),
    [
        ("pvc://models", ArtifactKind.CLAIM, "models", ""),
        ("pvc://models/", ArtifactKind.CLAIM, "models", ""),
        ("pvc://models.v2/llama/3.1/", ArtifactKind.CLAIM, "models.v2", "llama/3.1"),
        ("pvc://models/Llama_3=x", ArtifactKind.CLAIM, "models", "Llama_3=x"),
        ("hf://meta-llama/Llama-3.1-8B", ArtifactKind.REMOTE, "meta-llama", ""),
        ("hf://meta-llama/Llama-3.1-8B:0e9e39f2", ArtifactKind.REMOTE, "meta-llama", ""),
        ("s3://Bucket_1/llama/3", ArtifactKind.REMOTE, "Bucket_1", "llama/3"),
        ("gs://bucket.example/llama", ArtifactKind.REMOTE, "bucket.example", "llama"),
        ("https://Example.org:8443/a/llama.tar.gz", ArtifactKind.REMOTE, "example.org:8443", "a/llama.tar.gz"),
        (
            "https://team.blob.core.windows.net/models/llama",
            ArtifactKind.REMOTE,
            "team.blob.core.windows.net",
            "models/llama",
        ),
        ("oci://llama:1", ArtifactKind.MODELCAR, "llama:1", ""),
        ("oci://localhost:5000/team/llama:v1.0_a", ArtifactKind.MODELCAR, "localhost:5000/team/llama:v1.0_a", ""),
        (f"oci://registry.example/llama{DIGEST}", ArtifactKind.MODELCAR, f"registry.example/llama{DIGEST}", ""),
        (f"oci+native://a.b/c/d__e:1{DIGEST}", ArtifactKind.IMAGE_VOLUME, f"a.b/c/d__e:1{DIGEST}", ""),
    ],
)
def test_every_scheme_has_its_kind_and_its_place(uri: str, kind: ArtifactKind, place: str, folder: str) -> None:
    """A slash at the end does not matter, except for s3."""
    found = read(uri)
    assert (found.kind, found.place, found.folder) == (kind, place, folder)
    assert found.uri.removesuffix("/") == uri.removesuffix("/")


@pytest.mark.parametrize(
    ("uri", "asked"),
    [
        ("s3://models/llama-8b", "s3://models/llama-8b/"),
        ("s3://models/llama-8b/", "s3://models/llama-8b/"),
        ("s3://models/llama.tar.gz", "s3://models/llama.tar.gz"),
        ("s3://models/llama.TGZ", "s3://models/llama.TGZ"),
        ("gs://models/llama-8b/", "gs://models/llama-8b"),
        ("https://host/models/llama.tgz/", "https://host/models/llama.tgz"),
    ],
)
def test_a_folder_of_a_bucket_brings_no_sibling_of_its_name(uri: str, asked: str) -> None:
    """KServe's downloader takes s3://models/llama-8b for a prefix: llama-8b-instruct has it too (seen on a node)."""
    assert read(uri).uri == asked
    assert read(uri).model == read(uri.rstrip("/")).model


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("", "the URI has no scheme"),
        ("/mnt/models", "the URI has no scheme"),
        ("models/llama", "the URI has no scheme"),
        ("PVC://models", "write pvc://"),
        ("pvc:models", "write pvc://"),
        ("http://example.org/llama.zip", "use https://"),
        ("file:///models", "put the model into a PVC"),
        ("hdfs://name/llama", "never tested"),
        ("modelscope://a/b", "only KServe 0.21"),
        ("oci+fetch://a/b:1", "write oci://"),
        ("s3a://bucket/llama", "write s3://BUCKET/FOLDER"),
        ("abfs://container@account/llama", "blob.core.windows.net"),
        (
            "ftp://example.org/x",
            ("scheme not supported; use pvc://, hf://, s3://, gs://, https://, oci:// and oci+native://"),
        ),
        ("pvc://", "name the PVC"),
        ("pvc:///llama", "name the PVC"),
        ("pvc://Models/llama", "lower-case"),
        ("pvc://mod_els", "lower-case"),
        (f"pvc://{'a' * 254}", "at most 253 characters"),
        ("pvc://other-namespace:models/llama", "must be in this object's own namespace"),
        ("pvc://models@team-b/llama", "must be in this object's own namespace"),
        ("pvc://models//llama", "must not have empty parts, '.' or '..'"),
        ("pvc://models/../llama", "must not have empty parts, '.' or '..'"),
        ("pvc://models/./llama", "must not have empty parts, '.' or '..'"),
        (f"pvc://models/{'a' * 300}", "at most 255 bytes"),
        (f"pvc://models/{'a/' * 300}a", "at most 512 characters, and this one has 601"),
        (f"pvc://models/{'a/' * 600}", "at most 1024 characters, and this one has 1213"),
        ("pvc://models/llama 3", "' ' is not allowed in a URI"),
        ("pvc://models/$(HOME)", "'$' is not allowed in a URI"),
        ("pvc://models/{{.Name}}", "'{' is not allowed in a URI"),
        ("pvc://models/llama\n", "is not allowed in a URI"),
        ("hf://llama", "write hf://OWNER/MODEL or hf://OWNER/MODEL:REVISION"),
        ("hf:///llama", "write hf://OWNER/MODEL"),
        ("hf://meta-llama/llama/original", "set a folder in spec.model.path"),
        ("hf://meta-llama/llama:refs/pr/1", "name a branch with '/' by its commit"),
        ("hf://meta-llama/llama:", "write hf://OWNER/MODEL"),
        ("s3://", "write s3://BUCKET/FOLDER"),
        ("s3://bucket", "a whole bucket is not a model"),
        ("gs://bucket/", "a whole bucket is not a model"),
        ("gs://-bucket/x", "write gs://BUCKET/FOLDER"),
        ("s3://bucket/a/../b", "a folder must not have empty parts"),
        ("https://example.org", "of an archive, a git repository or an Azure blob folder"),
        ("https://exa_mple.org/x", "write https://HOST/PATH"),
        ("https://huggingface.co/meta-llama/llama", "write hf://OWNER/MODEL"),
        ("oci://", "name the image"),
        ("oci://llama", "add a tag or a digest"),
        ("oci://localhost:5000/llama", "add a tag or a digest"),
        ("oci://registry.example/Llama:1", "an image's repository is lower-case"),
        ("oci://registry.example/ll--/a:1", "not an image name"),
        ("oci://registry.example/llama:", "a tag has at most 128"),
        (f"oci://registry.example/llama:{'a' * 129}", "a tag has at most 128"),
        ("oci://registry.example/llama@sha256:0a", "a digest is @sha256:HEX"),
        (f"oci://{'a' * 256}:1", "at most 255 characters"),
        ("oci://llama:1'; rm -r /", "is not allowed in a URI"),
    ],
)
def test_what_cannot_be_brought_is_refused_with_a_way_out(uri: str, words: str) -> None:
    """Field, value, rule; most of it would else fail minutes later, in a container."""
    refused = refusal(uri)
    assert refused.field == "spec.model.uri"
    assert words in refused.rule


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://me:secret@example.org/x.zip", "https://example.org/…"),
        ("https://example.org/x.zip?sig=secret", "https://example.org/…"),
        ("https://example.org?sig=secret", "https://example.org/…"),
        ("https://example.org/x.zip#secret", "https://example.org/…"),
        ("s3://key:secret@bucket/llama", "s3://bucket/…"),
        ("hf://secret@meta-llama/llama", "hf://meta-llama/…"),
        ("http://me:secret@example.org/x.zip", "http://example.org/…"),
        (f"https://me:secret@example.org/{'x' * 2000}", "https://example.org/…"),
    ],
)
def test_keys_are_refused_and_never_repeated(uri: str, shown: str) -> None:
    """The refusal stands in the object's status and in the log, where more people read than wrote the spec."""
    refused = refusal(uri)
    assert "secret" not in refused.message.replace("name a secret instead", "")
    assert refused.value == shown


@pytest.mark.parametrize("path", ["..", "a/../b", "./a", "a//b", "/a", "a" * 300, "a/" * 300, "a b", "$(A)"])
def test_a_path_goes_down_only(path: str) -> None:
    """Inside the artifact, and as a file system can have it."""
    assert refusal("hf://a/b", path).field == "spec.model.path"


def test_a_path_of_many_parts_is_taken() -> None:
    """Up to 255 bytes a part and 512 in all; three dots are a name."""
    assert read("hf://a/b", f"{'a' * 255}/{'b' * 255}/").path == f"{'a' * 255}/{'b' * 255}"
    assert read("hf://a/b", "...").path == "..."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("pvc://a/x", "y"), ("pvc://a", "x/y")),
        (("pvc://a/x", None), ("pvc://a/x/", None)),
        (("hf://a/b:1", "x"), ("hf://a/b:1/", "x")),
        (("oci://a:1", None), ("oci+native://a:1", None)),
    ],
)
def test_the_same_files_are_known_under_two_names(one: tuple[str, str | None], other: tuple[str, str | None]) -> None:
    """A model that drafts for itself gains nothing."""
    assert read(*one).model == read(*other).model


def test_models_differ_by_uri_and_by_path() -> None:
    different = [uri for uri in URIS if not uri.startswith("oci+native")]
    found = {read(uri, path).model for uri in different for path in (None, "x")}
    assert len(found) == 2 * len(different)


@given(st.text(max_size=40) | st.builds("{}://{}".format, st.sampled_from(["pvc", "hf", "s3", "oci"]), st.text()))
def test_any_text_is_read_or_refused(uri: str) -> None:
    """Never a traceback; what is read holds nothing that a shell, Kubernetes or KServe would expand."""
    try:
        found = read(uri)
    except Invalid:
        return
    assert not set("$`'\"\\{}<>|;& \n") & set(found.uri)
