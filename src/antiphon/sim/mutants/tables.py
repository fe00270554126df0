"""Bugs in tables: what a session has defined is not known where its messages come."""

from typing import Any

from antiphon.protocol.node import Node
from antiphon.sim.mutants.planting import mutants_of, swap


def tables_not_told(node: Node) -> None:
    """After a merge nobody learns what sessions of other daemons have defined."""

    def load(original: Any, told: Any) -> None:
        original({session: told[session] for session in told if session[:2] == node.me})

    swap(node.groups._directory.tables, "load", load)


def tables_lost_at_install(node: Node) -> None:
    """What sessions of other daemons have defined is forgotten with the configuration."""

    def cut(original: Any, coming: Any) -> None:
        original({node.me})

    swap(node.groups._directory.tables, "cut", cut)


def table_grows_at_its_beginning(node: Node) -> None:
    """What is defined later takes the places of what was defined before, at other daemons."""
    tables = node.groups._directory.tables

    def define(original: Any, session: Any, destinations: Any) -> Any:
        if session[:2] == node.me:
            return original(session, destinations)
        before = tables.of(session)
        tables.forget(session)
        return original(session, destinations + before)

    swap(tables, "define", define)


def routes_not_forgotten(node: Node) -> None:
    """Who came or went since a table was first used does not count."""
    swap(node.groups._routing, "forget", lambda original: None)


MUTANTS = mutants_of(
    "tables",
    tables_not_told,
    tables_lost_at_install,
    table_grows_at_its_beginning,
    routes_not_forgotten,
)
