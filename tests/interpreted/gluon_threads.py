"""The part of Gluon that the Hopper kernel uses, on the CPU: each group of warps is a thread.

Layouts mean nothing here. What is asynchronous happens as late as it may: a matrix product reads
its operands when it is waited for, so that a tile which is overwritten too early gives a wrong
result. A barrier that never completes raises an error instead of hanging.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch

PATIENCE_S = 20.0
"""How long a barrier is waited for before the wait counts as a deadlock."""

COPY_S = 0.001
"""How long a tile holds NaN while it is copied: who does not wait for it reads that."""


class Number(int):
    """A constant of a kernel."""

    value = property(int)


class Barrier:
    """An mbarrier: a phase completes when all have arrived and all expected bytes are there."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.phase = self.count = self.missing = self.bytes = 0

    def init(self, count: int) -> None:
        self.count = self.missing = count

    def add(self, arrivals: int = 0, transfer: int = 0) -> None:
        with self.changed:
            self.missing -= arrivals
            self.bytes += transfer
            assert self.missing >= 0, "more arrivals than the barrier counts"
            if self.missing == 0 and self.bytes == 0:
                self.phase += 1
                self.missing = self.count
                self.changed.notify_all()

    def wait(self, parity: int) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.phase % 2 != parity, PATIENCE_S):
                raise TimeoutError(f"nobody completed phase {self.phase} of a barrier")


class Tile:
    """A place in shared memory, whose content is looked at when it is used."""

    def __init__(self, data: torch.Tensor, turned: bool = False) -> None:
        self.data, self.turned = data, turned
        self.shape, self.dtype = data.shape, data.dtype

    def index(self, i: int) -> Tile:
        assert 0 <= i < len(self.data)
        return Tile(self.data[i])

    def permute(self, order: tuple[int, int]) -> Tile:
        assert order == (1, 0)
        return Tile(self.data, not self.turned)

    def store(self, value: torch.Tensor) -> None:
        assert value.shape == self.data.shape
        self.data.copy_(value)

    def read(self) -> torch.Tensor:
        return (self.data.t() if self.turned else self.data).float()


class Barriers(list[Barrier]):
    """Barriers in shared memory."""

    def index(self, i: Any, *_: Any) -> Any:
        assert 0 <= i < len(self)
        return self[i]


class Product:
    """A matrix product under way: it is computed when it is waited for."""

    def __init__(self, a: Any, b: Tile, acc: Any, *, use_acc: bool = True, is_async: bool) -> None:
        assert is_async
        self.a, self.b, self.acc = a, b, acc if use_acc else None

    def result(self) -> torch.Tensor:
        a = self.a.read() if isinstance(self.a, Tile) else self.a.float()
        product = a @ self.b.read()
        return product if self.acc is None else product + self.acc


class Rows:
    """A tensor descriptor: tiles of rows, zeros past the end."""

    def __init__(self, base: torch.Tensor, shape: list[int], strides: list[int],
                 block_shape: list[int], layout: Any) -> None:  # fmt: skip
        assert all(step * base.itemsize % 16 == 0 for step in strides[:3])
        assert strides[3] == 1
        assert base.data_ptr() % 16 == 0
        self.base, self.rows, self.dtype = base, block_shape[2], base.dtype
        self.block_type = mock.Mock(nbytes=block_shape[2] * shape[3] * base.itemsize)
        assert layout is not None

    def part(self, at: list[int]) -> torch.Tensor:
        batch, head, row, column = at
        assert column == 0
        return self.base[batch, head, row : row + self.rows]


class Threads:
    """What the kernel sees as its environment: programs in turn, partitions as threads."""

    def __init__(self) -> None:
        self.program = self.programs = 0

    def load(self, rows: Rows, at: list[int], full: Barrier, tile: Tile) -> None:
        """Copy a tile from global memory: NaN first, then zeros past the end, then it is full."""
        part = rows.part(at)
        tile.data.fill_(float("nan"))
        time.sleep(COPY_S)
        tile.data.zero_()
        tile.data[: len(part)] = part
        full.add(transfer=-rows.block_type.nbytes)

    def store(self, rows: Rows, at: list[int], tile: Tile) -> None:
        """Copy a tile to global memory, but for what is past the end."""
        part = rows.part(at)
        part.copy_(tile.data[: len(part)])

    def allocate(self, dtype: Any, shape: list[int], _layout: Any) -> Any:
        """Return barriers where they are asked for, else tiles of NaN."""
        if dtype is torch.int64:
            return Barriers(Barrier() for _ in range(shape[0]))
        return Tile(torch.full(shape, float("nan"), dtype=dtype))

    def wait_products(self, outstanding: int, deps: list[Any]) -> Any:
        """Finish the first of the products given, in the order in which they were started."""
        done = [
            x.result() if isinstance(x, Product) and i < len(deps) - outstanding else x
            for i, x in enumerate(deps)
        ]
        return done[0] if len(done) == 1 else tuple(done)

    def specialize(self, parts: list[Any], warps: list[int], registers: list[int]) -> None:
        """Run the partitions as threads, and raise the first error of any."""
        assert len(parts) == len(warps) + 1 == len(registers) + 1
        errors: list[BaseException] = []

        def work(function: Any, arguments: Any) -> None:
            try:
                function(*arguments)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=part, daemon=True) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def jit(self, function: Any) -> Any:
        """Let a function be called by others as it is, and launched with a grid in brackets."""
        kernel = mock.MagicMock(side_effect=function)

        def at_grid(grid: tuple[int]) -> Any:
            def run(*arguments: Any, num_warps: int, maxnreg: int, **options: Any) -> None:
                assert num_warps * maxnreg > 0
                self.programs = grid[0]
                for self.program in range(grid[0]):
                    function(*arguments, **options)

            return run

        kernel.__getitem__.side_effect = at_grid
        return kernel

    def language(self) -> Any:
        """Return what stands for ``triton.experimental.gluon.language``."""
        return mock.Mock(
            constexpr=Number,
            program_id=lambda _: self.program,
            num_programs=lambda _: self.programs,
            static_range=range,
            float32=torch.float32,
            int64=torch.int64,
            zeros=lambda shape, dtype, _layout: torch.zeros(shape, dtype=dtype),
            full=lambda shape, value, dtype, _layout: torch.full(shape, value, dtype=dtype),
            arange=lambda start, end, _layout: torch.arange(start, end),
            where=torch.where,
            maximum=torch.fmax,
            max=lambda x, axis: x.amax(axis),
            sum=lambda x, axis: x.sum(axis),
            exp2=torch.exp2,
            convert_layout=lambda x, _layout: x,
            allocate_shared_memory=self.allocate,
            warp_specialize=self.specialize,
        )

    def hopper(self) -> Any:
        """Return what stands for its module ``nvidia.hopper``."""
        return mock.Mock(
            fence_async_shared=lambda: None,
            mbarrier=mock.Mock(
                init=lambda barrier, count: barrier.init(count),
                expect=lambda barrier, size: barrier.add(arrivals=1, transfer=size),
                arrive=lambda barrier, count=1: barrier.add(arrivals=count),
                wait=lambda barrier, parity, pred=True: barrier.wait(parity) if pred else None,
            ),
            tma=mock.Mock(async_load=self.load, async_store=self.store),
            warpgroup_mma=Product,
            warpgroup_mma_wait=self.wait_products,
        )


def load(path: Path) -> ModuleType:
    """Import a module that is written in Gluon so that its kernels run on threads."""
    threads, root = Threads(), "triton.experimental.gluon"
    language = threads.language()
    gluon = mock.Mock(jit=threads.jit, language=language)
    fakes = {
        "triton.experimental": mock.Mock(gluon=gluon),
        root: gluon,
        f"{root}.language": language,
        f"{root}.language.nvidia.hopper": threads.hopper(),
        f"{root}.nvidia.hopper": mock.Mock(TensorDescriptor=Rows),
    }
    spec = importlib.util.spec_from_file_location(f"{path.stem}_on_threads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, fakes):
        spec.loader.exec_module(module)
    return module
