"""The first look at Terraform code."""

from __future__ import annotations

import pytest

from policy import source, terraform_source
from policy.refusal import Code, Refusal, Refused

PATH = "terraform/demo"


def modules(text: str, name: str = "main.tf", **others: str) -> frozenset[str]:
    files = {f"{PATH}/{name}": text.encode(), **{path: body.encode() for path, body in others.items()}}
    return source.local_modules(PATH, files)


def refusal(text: str, name: str = "main.tf") -> Refusal:
    with pytest.raises(Refused) as caught:
        modules(text, name)
    assert caught.value.refusal.code is Code.TERRAFORM_SOURCE
    return caught.value.refusal


def test_code_without_modules_needs_none() -> None:
    text = """
    variable "x" { type = string }
    resource "terraform_data" "a" {
      input = { for k, v in { a = 1 } : upper(k) => v if v > 0 }
      lifecycle { create_before_destroy = true }
    }
    terraform { required_version = ">= 1.5" }
    """
    assert modules(text) == frozenset()


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("../modules/net", "terraform/modules/net"),
        ("./sub", "terraform/demo/sub"),
        ("./sub/../other/", "terraform/demo/other"),
        ("../../shared", "shared"),
    ],
)
def test_local_modules_are_found_by_their_repository_path(written: str, path: str) -> None:
    assert modules(f'module "a" {{\n  source = "{written}"\n}}\n') == {path}
    assert modules(f'{{"module": {{"a": {{"source": "{written}"}}}}}}', "main.tf.json") == {path}
    assert modules(f'{{"module": [{{"a": [{{"source": "{written}"}}]}}]}}', "main.tf.json") == {path}


def test_modules_of_modules_are_followed_where_their_files_are_at_hand() -> None:
    files = {
        "a/main.tf": b'module "x" { source = "../m/one" }',
        "m/one/main.tf": b'module "y" { source = "../two" }',
    }
    assert source.local_modules("a", files) == {"m/one", "m/two"}
    files["m/two/main.tf"] = b'module "z" { source = "../one" }\nmodule "r" { source = "../../a" }'
    assert source.local_modules("a", files) == {"m/one", "m/two"}


@pytest.mark.parametrize("name", ["main.tf", "override.tf", "x_override.tf", "main.tofu"])
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('terraform {\n  backend "s3" {}\n}', "a backend block"),
        ('terraform {\n  backend "local" {\n    path = "/tmp/x"\n  }\n}', "a backend block"),
        ('terraform {\n  cloud {\n    organization = "x"\n  }\n}', "a cloud block"),
        (
            'resource "terraform_data" "a" {\n  provisioner "local-exec" {\n    command = "id"\n  }\n}',
            "a provisioner in terraform_data.a",
        ),
        ('variable "v" {\n  ephemeral = true\n}', "the ephemeral value v"),
        ('output "o" {\n  value     = 1\n  ephemeral = true\n}', "the ephemeral value o"),
        ('ephemeral "random_password" "p" {\n  length = 8\n}', "the ephemeral value random_password.p"),
    ],
)
def test_what_a_plan_could_never_carry_out_is_refused_early(name: str, text: str, what: str) -> None:
    assert what in refusal(text, name).what


@pytest.mark.parametrize(
    "text",
    [
        '{"terraform": {"backend": {"s3": {}}}}',
        '{"terraform": [{"cloud": {}}]}',
        '{"resource": {"terraform_data": {"a": {"provisioner": {"local-exec": {}}}}}}',
        '{"resource": [{"terraform_data": [{"a": [{"provisioner": []}]}]}]}',
        '{"removed": {"from": "a.b", "provisioner": {"local-exec": {"command": "id"}}}}',
        '{"removed": [{"from": "a.b", "\\u0070rovisioner": [{"local-exec": {"command": "id"}}]}]}',
        '{"variable": {"v": {"ephemeral": true}}}',
        '{"ephemeral": {"random_password": {"p": {}}}}',
    ],
)
def test_the_same_in_json(text: str) -> None:
    for name in ("main.tf.json", "main.tofu.json"):
        refusal(text, name)


@pytest.mark.parametrize(
    "written",
    [
        '"git::https://example.com/x.git"',
        '"hashicorp/consul/aws"',
        '"github.com/x/y"',
        '"https://example.com/x.zip"',
        '"/etc/module"',
        '"terraform/modules/x"',
        '"${path.module}/x"',
        '"./${var.x}"',
        '"../\\u0078"',
        "var.x",
        '("../x")',
        "<<EOT\n../x\nEOT",
        "null",
        '".../x"',
        '""',
    ],
)
def test_a_module_that_isn_t_a_plain_local_path_is_refused(written: str) -> None:
    assert "no plain local path" in refusal(f'module "a" {{\n  source = {written}\n}}').what


def test_a_module_without_source_is_refused() -> None:
    assert "no plain local path" in refusal('module "a" {\n}').what


@pytest.mark.parametrize("written", ["../../../x", "../..", "../../../terraform/demo", "../.ownergate/x"])
def test_a_module_outside_of_the_repositorys_folders_is_refused(written: str) -> None:
    assert "leads out of" in refusal(f'module "a" {{\n  source = "{written}"\n}}').what


def test_comment_tricks_hide_nothing() -> None:
    hidden = 'locals {\n  a = "/*"\n}\nterraform {\n  backend "s3" {}\n}\nlocals {\n  b = "*/"\n}\n'
    assert "a backend block" in refusal(hidden).what
    assert modules('/* terraform { backend "s3" {} } */\n# module "a" { source = "x/y/z" }\n') == frozenset()


def test_text_in_a_heredoc_is_no_code() -> None:
    text = (
        'locals {\n  a = <<EOT\nterraform {\n  backend "s3" {}\n}\nmodule "a" { source = "x/y/z" }\nEOT\n}\n'
    )
    assert modules(text) == frozenset()
    assert modules('resource "a" "b" {\n  input = { provisioner = "x", backend = "y" }\n}') == frozenset()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.tf", 'module "a" {'),
        ("main.tf", "}"),
        ("main.tf", "x x x"),
        ("main.tf", "locals { a = " + "[" * 3000 + "]" * 3000 + " }"),
        ("main.tofu", "resource"),
        ("main.tf.json", "{"),
        ("main.tf.json", "[]"),
        ("main.tf.json", '{"terraform": {}, "terraform": {"backend": {}}}'),
        ("main.tf.json", "[" * 100_000),
    ],
)
def test_what_can_t_be_parsed_is_refused(name: str, text: str) -> None:
    found = refusal(text, name)
    assert f"{PATH}/{name} can't be read as Terraform code" in found.what


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Refused, match="can't be read"):
        source.local_modules(PATH, {f"{PATH}/main.tf": b"\xff\xfe"})


def test_other_files_and_other_folders_are_not_looked_at() -> None:
    files = {
        f"{PATH}/main.tf": b"",
        f"{PATH}/README.md": b'terraform { backend "s3" {} }',
        f"{PATH}/sub/main.tf": b"not terraform {",
        "elsewhere/main.tf": b"not terraform {",
    }
    assert source.local_modules(PATH, files) == frozenset()


def test_too_much_code_is_refused_before_it_is_parsed() -> None:
    assert "bytes of Terraform code" in refusal("#" * (terraform_source.LARGEST + 1)).what


REMOVED = "removed {\n  from = terraform_data.a\n  lifecycle {\n    destroy = true\n  }\n"


@pytest.mark.parametrize(
    "text",
    [
        REMOVED + '  provisioner "local-exec" {\n    when    = destroy\n    command = "id"\n  }\n}',
        # Terraform runs the provisioner of a removed block and lists it in no plan, so even where our
        # parser might see a comment or a text, the two words don't stand together.
        REMOVED + "  # provisioner\n}",
        REMOVED + '}\nlocals {\n  a = "provisioner"\n}',
    ],
)
def test_a_removed_block_never_stands_beside_a_provisioner(text: str) -> None:
    assert "provisioner" in refusal(text, "main.tf").what


def test_the_two_words_are_refused_in_different_files_too() -> None:
    files = {"terraform/web/a.tf": (REMOVED + "}").encode(), "terraform/m/b.tofu": b"# provisioner"}
    with pytest.raises(Refused, match="both stand"):
        terraform_source.local_modules("terraform/web", files)


def test_a_removed_block_alone_is_fine() -> None:
    assert modules(REMOVED + "}") == frozenset()
