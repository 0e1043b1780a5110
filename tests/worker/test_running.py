"""One `everturn up` on one folder, ports, and folders that cannot be used."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from worker.errors import OperatorError
from worker.ports import HOST, is_free, next_free_port
from worker.running import Running, prepare_home, read_running, up_lock, write_running


def test_a_second_up_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    prepare_home(tmp_path)
    with up_lock(tmp_path), pytest.raises(OperatorError, match="runs already"), up_lock(tmp_path):
        pass
    with up_lock(tmp_path):
        pass


def test_a_second_up_is_told_where_the_first_one_is(tmp_path: Path) -> None:
    prepare_home(tmp_path)
    page = "http://127.0.0.1:8090"
    with up_lock(tmp_path):
        write_running(tmp_path, Running(temporal_address=None, chat_page=page))
        with pytest.raises(OperatorError, match=f"its chat page is {page}"), up_lock(tmp_path):
            pass


def test_the_addresses_of_an_up_that_was_killed_are_forgotten(tmp_path: Path) -> None:
    prepare_home(tmp_path)
    write_running(tmp_path, Running(temporal_address="127.0.0.1:1", chat_page="http://x"))
    with up_lock(tmp_path):
        assert read_running(tmp_path) is None
        with pytest.raises(OperatorError, match=f"already on {tmp_path}: stop"), up_lock(tmp_path):
            pass


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OperatorError, match=r"EVERTURN_HOME .* cannot be used"):
        prepare_home(tmp_path / "file" / "home")


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly_full(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=3_000_000)

    monkeypatch.setattr("worker.running.shutil.disk_usage", nearly_full)
    with pytest.raises(OperatorError, match=r"cannot be used \(only 3 MB are free there\)"):
        prepare_home(tmp_path)


def test_a_taken_port_gives_the_next_free_one() -> None:
    wanted = next_free_port(21_000)
    with socket.socket() as other:
        other.bind((HOST, wanted))
        other.listen()
        assert not is_free(wanted)
        found = next_free_port(wanted)
        assert found > wanted
        assert next_free_port(wanted, [found]) > found
    assert next_free_port(wanted) == wanted


def test_a_port_with_connections_that_linger_is_free() -> None:
    """After a restart the same port is taken again, although old connections are in TIME_WAIT."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((HOST, 0))
        server.listen()
        port = server.getsockname()[1]
        client = socket.create_connection((HOST, port))
        accepted, _ = server.accept()
        accepted.close()
        client.close()
    assert is_free(port)


def test_no_free_port_is_one_line() -> None:
    with pytest.raises(OperatorError, match="no free port"):
        next_free_port(65_535, [65_535])


def test_the_home_is_left_clean(tmp_path: Path) -> None:
    prepare_home(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["logs", "run"]
    assert os.listdir(tmp_path / "run") == []
