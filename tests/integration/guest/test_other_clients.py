"""A JSON-RPC library that others wrote talks to the daemon."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from jsonrpcclient import Error, Ok, parse_json, request_json
from tests.integration.guest.daemon import TRANSPORTS, Conversation, running

IDS = itertools.count(1)


def ask(talk: Conversation, method: str, params: object = None) -> Ok | Error:
    id_ = next(IDS)
    talk.send(request_json(method, params=params, id=id_).encode() + b"\n")
    answer: Ok | Error = parse_json(talk.line().decode())
    assert answer.id == id_
    return answer


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_library_of_others_gets_results_and_errors(transport: str, tmp_path: Path) -> None:
    with running(tmp_path / "home", "--workdir", str(tmp_path), transport=transport) as daemon:
        talk = daemon.connect()

        told = [
            ask(talk, "ping"),
            ask(talk, "exec", {"cmd": "echo Zürich; exit 3"}),
            ask(talk, "exec_code", ["python", "print(6 * 7)"]),
            ask(talk, "write_file", {"path": "note", "content": "東京\n"}),
            ask(talk, "read_file", {"path": "note"}),
        ]
        assert [each.result for each in told if isinstance(each, Ok)] == [
            {"pong": True},
            {"exit_code": 3, "stdout": "Zürich\n", "stderr": ""},
            {"exit_code": 0, "stdout": "42\n", "stderr": ""},
            {"success": True},
            {"content": "東京\n"},
        ]
        refused = [ask(talk, "nothing"), ask(talk, "exec"), ask(talk, "list_dir", ["/nowhere"])]
        assert [each.code for each in refused if isinstance(each, Error)] == [
            -32601,
            -32602,
            -32603,
        ]
