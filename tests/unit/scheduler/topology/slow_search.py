"""The search among hypernodes as scheduler.md 11.2 and plugins.md 24 tell it, task by task and with nothing saved."""

from __future__ import annotations

from dataclasses import dataclass, field

ROOT = "<cluster-top-hypernode>"


@dataclass
class SlowTree:
    """`tiers` and `children` by hypernode, `nodes` that each names itself; the free and whole cpu of each node."""

    tiers: dict[str, int]
    children: dict[str, list[str]]
    nodes: dict[str, list[int]]
    free: list[float]
    whole: list[float]
    parents: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parents = {child: name for name, below in self.children.items() for child in below}
        tops = sorted(name for name in self.tiers if name not in self.parents)
        self.parents |= dict.fromkeys(tops, ROOT)
        self.children[ROOT] = tops
        self.tiers[ROOT] = max(self.tiers.values(), default=0) + 1

    def chain(self, name: str) -> list[str]:
        return [name, *(self.chain(self.parents[name]) if name != ROOT else [])]

    def common(self, left: str, right: str) -> str:
        if not left or not right:
            return left or right
        return next(name for name in self.chain(right) if name in self.chain(left))

    def members(self, name: str) -> list[int]:
        if name == ROOT:
            return list(range(len(self.free)))
        found = set(self.nodes.get(name, []))
        for child in self.children.get(name, []):
            found.update(self.members(child))
        return sorted(found)

    def leaf(self, node: int) -> str:
        lowest = min(self.tiers.values())
        fitting = [name for name in self.tiers if self.tiers[name] == lowest and node in self.members(name)]
        return min(fitting, default="")


@dataclass
class SlowSearch:
    """One gang of tasks (cpu each, all of roles of their own size), its minimum and highest tier."""

    tree: SlowTree
    tasks: list[float]
    minimum: int
    tier: int
    placed: dict[int, int] = field(default_factory=dict)
    """Node by task."""
    job_allocated: str = ""
    allocated: str = ""

    def run(self) -> None:
        left = list(range(len(self.tasks)))
        while left:
            found = self.visit(left)
            if found is None:
                return
            plan, home, place, left = found
            for task, node in plan.items():
                self.take(task, node)
            self.job_allocated = self.tree.common(self.job_allocated, home)
            self.allocated = self.tree.common(self.allocated, place)

    def take(self, task: int, node: int) -> None:
        self.tree.free[node] -= self.tasks[task]
        self.placed[task] = node

    def give(self, task: int) -> None:
        self.tree.free[self.placed.pop(task)] += self.tasks[task]

    def visit(self, left: list[int]) -> tuple[dict[int, int], str, str, list[int]] | None:
        for group in self.gradients(ROOT, self.job_allocated, 0.0):
            found = []
            for home in group:
                inner = self.place_sub_job(left, home)
                if inner is not None:
                    plan, place, score, rest = inner
                    found.append((-score, self.tree.tiers[home], home, plan, place, rest))
            if found:
                _, _, home, plan, place, rest = min(found, key=lambda entry: entry[:3])
                return plan, home, place, rest
        return None

    def place_sub_job(self, left: list[int], home: str) -> tuple[dict[int, int], str, float, list[int]] | None:
        wanted = sum(self.tasks[task] for task in range(len(self.tasks)) if task not in self.placed)
        for group in self.gradients(home, self.allocated, wanted):
            found = []
            for name in group:
                trial = self.place_tasks(left, name)
                if trial is not None:
                    found.append((name, *trial))
            if found:
                scores = self.order([name for name, _, _ in found], wanted)
                name, plan, rest = min(
                    found, key=lambda entry: (-scores[entry[0]], self.tree.tiers[entry[0]], entry[0])
                )
                return plan, self.tree.common(self.allocated, name), scores[name], rest
        return None

    def gradients(self, given: str, allocated: str, wanted: float) -> list[list[str]]:
        tree, root = self.tree, given
        if allocated:
            within = [name for name in tree.chain(allocated) if tree.tiers[name] <= self.tier]
            if tree.tiers[allocated] > self.tier:
                return []
            if given in tree.chain(within[-1]):
                root = within[-1]
            elif within[-1] not in tree.chain(given):
                return []
        below = [root]
        for name in below:
            below.extend(sorted(tree.children.get(name, []), key=lambda child: (tree.tiers[child], child)))
        groups: dict[int, list[str]] = {}
        for name in below:
            idle = sum(tree.free[node] for node in tree.members(name))
            if tree.tiers[name] <= self.tier and (allocated or wanted - idle < 0.1):
                groups.setdefault(tree.tiers[name], []).append(name)
        return [groups[tier] for tier in sorted(groups)]

    def place_tasks(self, left: list[int], name: str) -> tuple[dict[int, int], list[int]] | None:
        running, plan, failed = self.allocated, {}, set()
        rest = list(left)
        while rest:
            task = rest.pop(0)
            size = self.tasks[task]
            if size in failed:
                continue
            nodes = [node for node in self.tree.members(name) if size - self.tree.free[node] < 0.1]
            if not nodes:
                failed.add(size)
                if self.minimum >= len(self.tasks):
                    break
                continue
            ratings = self.closeness(running, nodes)
            node = max(nodes, key=lambda node: (ratings[node], -node))
            self.take(task, node)
            plan[task] = node
            running = self.tree.common(running, self.tree.leaf(node))
            if len(self.placed) >= self.minimum:
                break
        whole = len(self.placed) >= self.minimum
        for task in plan:
            self.give(task)
        return (plan, rest) if whole and plan else None

    def closeness(self, allocated: str, nodes: list[int]) -> dict[int, float]:
        if not allocated:
            return dict.fromkeys(nodes, 0.0)
        tiers = self.tree.tiers
        low, high = min(tiers.values()), max(tiers.values())
        ratings = {}
        for node in nodes:
            leaf = self.tree.leaf(node)
            if not leaf:
                ratings[node] = 0.0
            elif leaf == allocated or low == high:
                ratings[node] = 1.0
            else:
                ratings[node] = (high - tiers[self.tree.common(leaf, allocated)]) / (high - low)
        tied = [node for node in nodes if ratings[node] == max(ratings.values())]
        if len(tied) > 1:
            homes = [self.tree.leaf(node) for node in self.placed.values()]
            for node in tied:
                leaf = self.tree.leaf(node)
                ratings[node] += homes.count(leaf) / len(self.tasks) if leaf else 0.0
        return {node: rating * 100 for node, rating in ratings.items()}

    def order(self, names: list[str], wanted: float) -> dict[str, float]:
        scores = {}
        for name in names:
            members = self.tree.members(name)
            whole = sum(self.tree.whole[node] for node in members)
            after = whole - sum(self.tree.free[node] for node in members) + wanted
            scores[name] = 0.0 if after > whole or not wanted else after / whole
        tied = [name for name in names if scores[name] == max(scores.values())]
        if len(tied) > 1:
            for name in tied:
                members = self.tree.members(name)
                scores[name] += sum(node in members for node in self.placed.values()) / len(self.tasks)
        return {name: score * 100 for name, score in scores.items()}
