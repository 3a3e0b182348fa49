"""Columns in the memory of a GPU, mapped into this process by the CUDA driver, read-only.

The session exports memory as a file descriptor (`cuMemExportToShareableHandle`). A mapping keeps the memory: it
outlives the session. The driver is called by ctypes, so that no package for CUDA has to be installed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any

from ._client import SESSION
from ._errors import OnrushError, optional

POSIX_FILE_DESCRIPTOR = 1
LOCATION_DEVICE = 1
ALLOCATION_PINNED = 1
PROT_READ = 1
GRANULARITY_MINIMUM = 0

#: The array interface's types of the session's.
TYPES = {
    "i8": "|i1",
    "i16": "<i2",
    "i32": "<i4",
    "i64": "<i8",
    "u8": "|u1",
    "u16": "<u2",
    "u32": "<u4",
    "u64": "<u8",
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
}


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Flags(ctypes.Structure):
    _fields_ = [
        ("compression_type", ctypes.c_ubyte),
        ("gpu_direct_rdma_capable", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    ]


class _Properties(ctypes.Structure):
    """`CUmemAllocationProp`."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("requested_handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32_handle_metadata", ctypes.c_void_p),
        ("flags", _Flags),
    ]


class _Access(ctypes.Structure):
    """`CUmemAccessDesc`."""

    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class Driver:
    """The calls of `libcuda.so.1` that a mapping needs, on one device."""

    def __init__(self, ordinal: int = 0) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self.ordinal = ordinal
        self.call("cuInit", ctypes.c_uint(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(ordinal))
        # The primary context is the one that CuPy and PyTorch use too.
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._context = context

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(status, ctypes.byref(text))
            said = (text.value or b"unknown").decode(errors="replace")
            raise OnrushError(
                f"{name} failed: {said}", notes=[f"status {status}"], error_class="environment", code="cuda"
            )

    def properties(self) -> _Properties:
        wanted = _Properties()
        wanted.type = ALLOCATION_PINNED
        wanted.requested_handle_types = POSIX_FILE_DESCRIPTOR
        wanted.location = _Location(LOCATION_DEVICE, self.ordinal)
        return wanted

    def pages(self, size: int) -> int:
        """Bytes of a mapping: it has pages of the device, usually of 2 MiB."""
        page = ctypes.c_size_t()
        self.call(
            "cuMemGetAllocationGranularity",
            ctypes.byref(page),
            ctypes.byref(self.properties()),
            ctypes.c_int(GRANULARITY_MINIMUM),
        )
        return -(-max(size, 1) // page.value) * page.value

    def bind(self) -> None:
        self.call("cuCtxPushCurrent_v2", self._context)

    def unbind(self) -> None:
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def map(self, descriptor: int, size: int) -> tuple[int, int]:
        """Maps exported memory read-only. Returns the address and the bytes of the mapping."""
        self.bind()
        try:
            length = self.pages(size)
            memory, address = ctypes.c_ulonglong(), ctypes.c_ulonglong()
            self.call(
                "cuMemImportFromShareableHandle",
                ctypes.byref(memory),
                ctypes.c_void_p(descriptor),
                ctypes.c_int(POSIX_FILE_DESCRIPTOR),
            )
            try:
                self.call(
                    "cuMemAddressReserve",
                    ctypes.byref(address),
                    ctypes.c_size_t(length),
                    ctypes.c_size_t(0),
                    ctypes.c_ulonglong(0),
                    ctypes.c_ulonglong(0),
                )
                try:
                    self._map(address, length, memory)
                except BaseException:
                    self._cuda.cuMemAddressFree(address, ctypes.c_size_t(length))
                    raise
            finally:
                # The mapping keeps the memory.
                self._cuda.cuMemRelease(memory)
        finally:
            self.unbind()
        return address.value, length

    def _map(self, address: ctypes.c_ulonglong, length: int, memory: ctypes.c_ulonglong) -> None:
        size = ctypes.c_size_t(length)
        self.call("cuMemMap", address, size, ctypes.c_size_t(0), memory, ctypes.c_ulonglong(0))
        access = _Access(_Location(LOCATION_DEVICE, self.ordinal), PROT_READ)
        try:
            self.call("cuMemSetAccess", address, size, ctypes.byref(access), ctypes.c_size_t(1))
        except BaseException:
            self._cuda.cuMemUnmap(address, size)
            raise

    def unmap(self, address: int, length: int) -> None:
        """Frees a mapping after the work that uses it. Errors are of no use here: at exit the driver may be gone."""
        where, size = ctypes.c_ulonglong(address), ctypes.c_size_t(length)
        if self._cuda.cuCtxPushCurrent_v2(self._context) != 0:
            return
        self._cuda.cuCtxSynchronize()
        self._cuda.cuMemUnmap(where, size)
        self._cuda.cuMemAddressFree(where, size)
        self._cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


_DRIVERS: dict[int, Driver] = {}
_LOCK = threading.Lock()


def driver(ordinal: int) -> Driver:
    """The driver for a device, asked for once in a process."""
    with _LOCK:
        if ordinal not in _DRIVERS:
            try:
                _DRIVERS[ordinal] = Driver(ordinal)
            except OSError as error:
                raise OnrushError(
                    "the CUDA driver cannot be loaded in this process",
                    ["`onrush.get` gives the column on the host"],
                    [str(error)],
                    error_class="environment",
                    code="no-driver",
                ) from error
        return _DRIVERS[ordinal]


class DeviceColumn:
    """A column in the memory of a GPU, read-only.

    `cupy.asarray(column)` and Numba take it by `__cuda_array_interface__`, `torch.from_dlpack(column)` by DLPack,
    without a copy. `torch.as_tensor` refuses memory that says that it is read-only.
    A write to it is an error of the GPU (an illegal address), which ends the CUDA context of this process.
    """

    def __init__(self, descriptor: int, rows: int, size: int, dtype: str, device: str, ordinal: int = 0) -> None:
        self._address = self._length = 0
        self._process = os.getpid()
        try:
            self._driver = driver(ordinal)
            self._address, self._length = self._driver.map(descriptor, size)
        finally:
            os.close(descriptor)
        self._rows = rows
        self._typestr = TYPES[dtype]
        #: The type as Rust cells spell it.
        self.type = dtype
        #: The name of the GPU.
        self.device = device
        self.nbytes = size

    def __len__(self) -> int:
        return self._rows

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": (self._rows,),
            "typestr": self._typestr,
            # Read-only. A consumer that heeds the flag copies before it writes.
            "data": (self._address if self._rows else 0, True),
            "strides": None,
            # The session has synchronised what it exports.
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self._driver.ordinal)

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule made by CuPy, or else by PyTorch: each takes `__cuda_array_interface__` without a copy.

        # Errors
        `BufferError` if neither is installed, and if a consumer asks for the host.
        """
        if options.get("dl_device") not in (None, self.__dlpack_device__()):
            raise BufferError("the column is on a GPU: `onrush.get` gives it on the host")
        cupy = optional("cupy")
        if cupy is not None:
            return cupy.asarray(self).__dlpack__(**options)
        torch = optional("torch")
        if torch is not None and torch.cuda.is_available():
            tensor = torch.as_tensor(_ForTorch(self), device=f"cuda:{self._driver.ordinal}")
            return tensor.__dlpack__(stream=options.get("stream"))
        raise BufferError("a capsule of DLPack for a GPU is made by CuPy or PyTorch, and neither can be imported")

    def __repr__(self) -> str:
        return f"<column of {self._rows:,} {self.type} on {self.device}>"

    def __del__(self) -> None:
        # Not in a process that was forked, whose CUDA context is the parent's, and not while Python ends.
        if getattr(self, "_address", 0) and not sys.is_finalizing() and os.getpid() == self._process:
            self._driver.unmap(self._address, self._length)


class _ForTorch:
    """A column without the read-only flag, which PyTorch refuses. The mapping stays read-only."""

    def __init__(self, column: DeviceColumn) -> None:
        self._column = column

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = self._column.__cuda_array_interface__
        return {**interface, "data": (interface["data"][0], False)}


def device_column(name: str, column: str) -> DeviceColumn | None:
    """A column of a frame on its device, or None if the session has it on the host."""
    return _mapped(*SESSION.request({"op": "get_device", "name": name, "column": column}))


def device_column_again(name: str, column: str, object_id: int, session: int) -> DeviceColumn | None:
    """A column of a frame that was got before, from the session that gave it.

    It is None if the name stands for another object by now, and if no connection to that session is open.
    """
    request = {"op": "get_device", "name": name, "column": column, "id": object_id}
    answer = SESSION.request_again(session, request)
    return None if answer is None else _mapped(*answer)


def _mapped(reply: dict[str, Any], descriptor: int | None) -> DeviceColumn | None:
    """The column of a reply. An emulated device has its memory on the host too."""
    if reply.get("on_host") or descriptor is None:
        if descriptor is not None:
            os.close(descriptor)
        return None
    if reply.get("emulated") or reply.get("type") not in TYPES:
        os.close(descriptor)
        return None
    ordinal = int(reply.get("ordinal") or 0)
    return DeviceColumn(
        descriptor, int(reply["rows"]), int(reply["bytes"]), reply["type"], str(reply["device"]), ordinal
    )
