"""`chroma browse`, the terminal program of the package, unchanged, in a pseudo-terminal.

It sends no key, so it needs a server without authentication.
"""

import os
import sys
from pathlib import Path

import chromadb
import pytest
from conftest import address, fresh_name, settings
from terminal import Terminal

CHROMA = str(Path(sys.executable).with_name("chroma"))
DOWN, RIGHT, ESCAPE, ENTER = "\x1b[B", "\x1b[C", "\x1b", "\r"
COUNT = 150


@pytest.fixture(scope="module")
def open_url():
    """A server that asks nobody for a key."""
    return os.environ["SHEAF_OPEN_URL"]


@pytest.fixture(scope="module")
def books(open_url):
    client = chromadb.HttpClient(**address(open_url), settings=settings())
    collection = client.create_collection(fresh_name(), embedding_function=None)
    numbers = range(COUNT)
    collection.add(
        ids=[f"id-{n}" for n in numbers],
        embeddings=[[n, 1] for n in numbers],
        documents=[f"book number {n}" for n in numbers],
        metadatas=[{"shelf": f"s{n % 7}", "n": n} for n in numbers],
    )
    return collection


@pytest.fixture
def browser(open_url, books, tmp_path):
    # Its settings lie in the home folder.
    environment = {**os.environ, "HOME": str(tmp_path)}
    terminal = Terminal(CHROMA, "browse", books.name, "--host", open_url, environment=environment)
    yield terminal
    terminal.close()


def test_shows_the_first_records_and_loads_more_on_the_way_down(browser):
    browser.until(f"/ {COUNT} (100 loaded)")
    browser.until("book number 3")
    assert '"shelf":"s3"' in browser.screen
    last = f"book number {COUNT - 1}"
    # Keys that come while it loads more may be lost.
    for _ in range(3 * COUNT):
        if last in browser.screen:
            break
        browser.press(DOWN)
    browser.until(last)


def test_expands_a_record(browser):
    browser.until("book number 3")
    browser.press(DOWN, RIGHT, ENTER)
    browser.until("Record ID")
    browser.until_gone("book number 3")
    assert "id-1" in browser.screen


def edit(browser, text):
    # An escape that comes together with the next key is another key, so each step waits for the one before.
    browser.press("e")
    browser.until("Exit Edit Mode")
    browser.press(text)
    browser.until(text)
    browser.press(ESCAPE)
    browser.until("Submit")


@pytest.mark.parametrize(
    ("fields", "found", "missing"),
    [
        ([([], "id-42")], ["book number 42"], "book number 41"),
        ([([DOWN], "number 137")], ["id-137"], "id-136"),
        (
            [([DOWN, DOWN], "shelf"), ([RIGHT, RIGHT], "s5")],
            ["book number 5", "book number 145"],
            "book number 0",
        ),
    ],
    ids=["id", "document", "metadata"],
)
def test_searches(browser, fields, found, missing):
    browser.until("book number 0")
    browser.press("s")
    browser.until("Submit")
    for way, text in fields:
        browser.press(*way)
        edit(browser, text)
    browser.press(ENTER)
    browser.until("Search Result")
    for text in found:
        browser.until(text)
    browser.until_gone(missing)


def test_says_that_a_collection_is_not_there(open_url, tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path)}
    terminal = Terminal(CHROMA, "browse", "nothing", "--host", open_url, environment=environment)
    try:
        terminal.until("nothing")
    finally:
        terminal.close()
