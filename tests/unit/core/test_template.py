from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.template import TemplateError, expand

VARIABLES = {"City": "bright-lights", "Name": "worker", "Dir": ""}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("", ""),
        ("{{.City}}/{{.Name}}", "bright-lights/worker"),
        ("{{ .Name }}", "worker"),
        ("<{{.Dir}}>", "<>"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ('{{"{{"}}.Name}}', "{{.Name}}"),
        ("${Name} $Name %s", "${Name} $Name %s"),
    ],
)
def test_variables_are_replaced_and_the_rest_stays(text: str, expanded: str) -> None:
    assert expand(text, VARIABLES) == expanded


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{.Nmae}}", 'unknown variable "{{.Nmae}}"; did you mean "{{.Name}}"?'),
        ("{{.Qqqq}}", "there are {{.City}} {{.Name}} {{.Dir}}"),
        ("{{.Name", 'no "}}" to close it'),
        ("{{", 'no "}}" to close it'),
        ("{{Name}}", '"{{Name}}" is not a template; write {{.City}} for a value'),
        ("{{.Name.More}}", "is not a template"),
        ("{{}}", "is not a template"),
        ("{{{.Name}}}", "is not a template"),
    ],
)
def test_what_cannot_be_expanded_is_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(TemplateError) as refused:
        expand(f"before {text}", VARIABLES)

    assert said in str(refused.value)
    assert refused.value.offset == len("before ")


def test_a_value_is_not_expanded_again() -> None:
    assert expand("{{.Name}}", {"Name": "{{.City}}"}) == "{{.City}}"


@given(st.text())
def test_a_text_without_double_braces_stays_as_it_is(text: str) -> None:
    text = text.replace("{{", "{ {")

    assert expand(text, VARIABLES) == text


@given(st.text(alphabet='{}. "Nameé\n', max_size=30))
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        expanded = expand(text, VARIABLES)
    except TemplateError as refused:
        expanded = text[: refused.offset]

    assert "{{.Name}}" not in expanded.replace('{{"{{"}}', "")
