// Python's header, with what must be said before it.
#pragma once

// Only the limited API of Python 3.11 is used, so one build serves every later version.
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
