"""`list_custom_tools`: what is there, and why the rest is not."""

from toolcrib.builtins.guidance import guidance


def test_before_the_first_tool(shop) -> None:
    found = shop.call("list_custom_tools", {})
    assert found.data == {"directory": str(shop.tools), "tools": [], "problems": [], "from_the_next_turn": []}
    assert shop.person.asked == []
    assert not shop.tools.exists()


def test_every_tool_with_its_place_version_and_approval(shop, make_tool) -> None:
    """F38, F47."""
    folder = shop.create()
    (shop.home / "config.yaml").write_text("approval: {tools: {custom_tool_shout: blocked}}")
    (about,) = shop.call("list_custom_tools", {}).data["tools"]
    assert about.pop("description").startswith("Say it loudly.")
    assert about == {
        "name": "custom_tool_shout", "version": "0.1.0", "source": "manifest", "place": f"{folder}/tool.yaml",
        "approval": "blocked",
    }  # fmt: skip


def test_what_is_not_offered_says_why(shop) -> None:
    """F30: not built yet."""
    folder = shop.create("count", language="go")
    found = shop.call("list_custom_tools", {}).data
    assert found["tools"] == []
    (problem,) = found["problems"]
    assert (problem["origin"], "entrypoint" in problem["message"]) == (f"{folder}/tool.yaml", True)


def test_what_is_new_since_the_turn_began_is_named(shop) -> None:
    """F26."""

    async def use(crib):
        await crib.call("create_custom_tool", {"name": "shout", "description": "Say it loudly."})
        before = (await crib.call("list_custom_tools", {})).data
        await crib.refresh()
        return before, (await crib.call("list_custom_tools", {})).data

    before, after = shop.use(use)
    assert (before["from_the_next_turn"], before["tools"]) == (["shout"], [])
    assert (after["from_the_next_turn"], len(after["tools"])) == ([], 1)


def test_the_guidance_comes_when_it_is_asked_for(shop) -> None:
    """F40."""
    assert shop.call("list_custom_tools", {"guidance": True}).data["guidance"] == guidance()
