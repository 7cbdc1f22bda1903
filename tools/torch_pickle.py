"""Reads the weights of a PyTorch checkpoint without PyTorch.

Only the older file form is read (five pickles, then raw storages). The
unpickler is restricted: it knows an ordered dictionary, tensors and storages,
and refuses everything else, so a checkpoint cannot run code here.
"""
import collections
import pickle

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
DTYPES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}


class _Tensor:
    """A view that is resolved once the storages have been read."""

    def __init__(self, storage, offset, shape, strides, *_):
        self.storage, self.offset, self.shape, self.strides = storage, offset, shape, strides

    def resolve(self, storages):
        data = storages[self.storage.key][self.offset:]
        strides = [s * data.itemsize for s in self.strides]
        return np.lib.stride_tricks.as_strided(data, self.shape, strides).copy()


_Storage = collections.namedtuple("_Storage", "key dtype count")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Tensor
        if module == "torch" and name in DTYPES:
            return DTYPES[name]
        raise pickle.UnpicklingError(f"the checkpoint asks for {module}.{name}, which is not allowed")

    def persistent_load(self, pid):
        kind, dtype, key, _location, count, _view = pid
        if kind != "storage":
            raise pickle.UnpicklingError(f"unknown record {kind!r} in the checkpoint")
        return _Storage(key, dtype, count)


def load(path):
    """Returns {name: array} of a checkpoint that holds a flat state dictionary."""
    with open(path, "rb") as file:
        if _Unpickler(file).load() != MAGIC:
            raise ValueError(f"{path} is no PyTorch checkpoint of the older form")
        _Unpickler(file).load()  # protocol version
        _Unpickler(file).load()  # byte order and sizes of the writer
        tensors = _Unpickler(file).load()
        dtypes = {t.storage.key: t.storage.dtype for t in tensors.values()}
        storages = {}
        for key in _Unpickler(file).load():
            count = int(np.frombuffer(file.read(8), "<i8")[0])
            dtype = dtypes[key]
            storages[key] = np.frombuffer(file.read(count * dtype.itemsize), dtype, count)
    return {name: tensor.resolve(storages) for name, tensor in tensors.items()}
