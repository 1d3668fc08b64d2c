// The Python side: the module, and its type `Searcher`, which holds the blocks of an index and answers many queries at a time.
#include "../kernel/buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "search.hpp"
#include "vocabulary_object.hpp"

namespace {

using tertulia::Best;
using tertulia::Block;
using tertulia::Buffer;
using tertulia::Key;
using tertulia::Query;

// The arrays of a block, in the order in which engine.py gives them.
enum Part { kWord, kFirst, kSlot, kMost, kDocument, kWeight, kDense, kParts };

struct OpenBlock {
    Buffer part[kParts];
    Block block;
};

struct Searcher {
    std::vector<std::unique_ptr<OpenBlock>> blocks;
    tertulia::SearchFunction<std::uint32_t> narrow = nullptr;
    tertulia::SearchFunction<std::uint64_t> wide = nullptr;
    std::uint64_t ceiling = 0;  // no weight is above it
};

struct SearcherObject {
    PyObject_HEAD
    Searcher* searcher;
};

bool has_avx2() {
#ifdef TERTULIA_HAS_AVX2_VARIANT
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

// ---------------------------------------------------------------- opening

bool is_sound(const OpenBlock& open) {
    const Buffer* part = open.part;
    const Block& block = open.block;
    const std::size_t postings = part[kDocument].count<std::uint16_t>();
    const std::size_t chunks = (block.documents + tertulia::kChunk - 1) / tertulia::kChunk;
    if (block.documents > tertulia::kBlock || part[kFirst].count<std::uint32_t>() != std::size_t{block.lists} + 1 ||
        part[kSlot].count<std::uint32_t>() != block.lists || part[kMost].count<std::uint32_t>() != block.lists ||
        part[kWeight].count<std::uint32_t>() != postings || block.first[0] != 0 || block.first[block.lists] != postings ||
        part[kDense].count<std::uint16_t>() != chunks * tertulia::kChunk * block.dense_lists) {
        return false;
    }
    for (std::uint32_t list = 0; list < block.lists; ++list) {
        if (block.first[list] > block.first[list + 1]) return false;
        if (block.slot[list] != tertulia::kSparse && block.slot[list] >= block.dense_lists) return false;
    }
    for (std::size_t at = 0; at < postings; ++at) {
        if (block.document[at] >= block.documents) return false;
    }
    return true;
}

// Takes a tuple (documents, dense lists, the parts); false with a Python error set.
bool open_block(PyObject* given, OpenBlock& open) {
    if (!PyTuple_Check(given) || PyTuple_Size(given) != kParts + 2) {
        PyErr_SetString(PyExc_TypeError, "a block is a tuple of two numbers and seven arrays");
        return false;
    }
    Block& block = open.block;
    const unsigned long documents = PyLong_AsUnsignedLong(PyTuple_GetItem(given, 0));
    const unsigned long dense_lists = PyLong_AsUnsignedLong(PyTuple_GetItem(given, 1));
    if (PyErr_Occurred() != nullptr) return false;
    for (int i = 0; i < kParts; ++i) {
        if (!open.part[i].take(PyTuple_GetItem(given, i + 2))) return false;
    }
    block.documents = static_cast<std::uint32_t>(std::min<unsigned long>(documents, 0xFFFFFFFFul));
    block.dense_lists = static_cast<std::uint32_t>(std::min<unsigned long>(dense_lists, 0xFFFFFFFFul));
    block.lists = static_cast<std::uint32_t>(open.part[kWord].count<std::uint32_t>());
    block.word = open.part[kWord].as<const std::uint32_t>();
    block.first = open.part[kFirst].as<const std::uint32_t>();
    block.slot = open.part[kSlot].as<const std::uint32_t>();
    block.most = open.part[kMost].as<const std::uint32_t>();
    block.document = open.part[kDocument].as<const std::uint16_t>();
    block.weight = open.part[kWeight].as<const std::uint32_t>();
    block.dense = open.part[kDense].as<const std::uint16_t>();
    if (!is_sound(open)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of a block do not fit each other");
        return false;
    }
    block.fill_table();
    return true;
}

PyObject* searcher_new(PyTypeObject* type, PyObject* args, PyObject*) {
    const char* variant = nullptr;
    unsigned long long ceiling = 0;
    PyObject* blocks = nullptr;
    if (!PyArg_ParseTuple(args, "sKO!", &variant, &ceiling, &PyTuple_Type, &blocks)) return nullptr;
    auto searcher = std::make_unique<Searcher>();
    searcher->ceiling = ceiling;
    searcher->narrow = tertulia::baseline::search_narrow;
    searcher->wide = tertulia::baseline::search_wide;
#ifdef TERTULIA_HAS_AVX2_VARIANT
    if (has_avx2() && std::strcmp(variant, "avx2") == 0) {
        searcher->narrow = tertulia::avx2::search_narrow;
        searcher->wide = tertulia::avx2::search_wide;
    }
#endif
    for (Py_ssize_t i = 0; i < PyTuple_Size(blocks); ++i) {
        searcher->blocks.push_back(std::make_unique<OpenBlock>());
        if (!open_block(PyTuple_GetItem(blocks, i), *searcher->blocks.back())) return nullptr;
    }
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* self = allocate(type, 0);
    if (self == nullptr) return nullptr;
    reinterpret_cast<SearcherObject*>(self)->searcher = searcher.release();
    return self;
}

void searcher_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    delete reinterpret_cast<SearcherObject*>(self)->searcher;
    const auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    release(self);
    Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// ---------------------------------------------------------------- searching

struct Answer {
    std::size_t k = 0;
    std::uint32_t* document = nullptr;  // k places for each query
    std::uint64_t* score = nullptr;
    std::uint32_t* found = nullptr;  // of each query
};

struct Numbered {
    std::size_t number;
    Query query;
};

// Every block is read for all queries before the next one, so that it stays in the cache.
template <class Sum>
void search_all(const Searcher& searcher, tertulia::SearchFunction<Sum> search, const std::vector<Numbered>& queries,
                const Answer& answer) {
    if (queries.empty()) return;
    tertulia::Scratch<Sum> scratch;
    std::vector<Best<Sum>> best(queries.size(), Best<Sum>(answer.k));
    std::uint32_t base = 0;
    for (const auto& open : searcher.blocks) {
        for (std::size_t i = 0; i < queries.size(); ++i) search(open->block, queries[i].query, base, scratch, best[i]);
        base += open->block.documents;
    }
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const auto& keys = best[i].sorted();
        const std::size_t number = queries[i].number;
        for (std::size_t rank = 0; rank < keys.size(); ++rank) {
            answer.document[number * answer.k + rank] = Key<Sum>::document(keys[rank]);
            answer.score[number * answer.k + rank] = Key<Sum>::score(keys[rank]);
        }
        answer.found[number] = static_cast<std::uint32_t>(keys.size());
    }
}

void search(const Searcher& searcher, const std::uint64_t* first, const std::uint32_t* word, const std::uint32_t* count,
            std::size_t queries, const Answer& answer) {
    std::vector<Numbered> narrow, wide;
    for (std::size_t i = 0; i < queries; ++i) {
        const Query query{word + first[i], count + first[i], static_cast<std::size_t>(first[i + 1] - first[i])};
        std::uint64_t words = 0;
        for (std::size_t at = 0; at < query.words; ++at) words += query.count[at];
        const bool fits = searcher.ceiling == 0 || words <= 0xFFFFFFFFull / searcher.ceiling;
        (fits ? narrow : wide).push_back({i, query});
    }
    search_all<std::uint32_t>(searcher, searcher.narrow, narrow, answer);
    search_all<std::uint64_t>(searcher, searcher.wide, wide, answer);
}

// search(first, words, counts, k, documents, scores, found)
PyObject* searcher_search(PyObject* self, PyObject* args) {
    PyObject* given[6];
    Py_ssize_t k = 0;
    if (!PyArg_ParseTuple(args, "OOOnOOO", &given[0], &given[1], &given[2], &k, &given[3], &given[4], &given[5])) {
        return nullptr;
    }
    Buffer first, word, count, document, score, found;
    if (!first.take(given[0]) || !word.take(given[1]) || !count.take(given[2]) ||
        !document.take(given[3], PyBUF_WRITABLE) || !score.take(given[4], PyBUF_WRITABLE) ||
        !found.take(given[5], PyBUF_WRITABLE)) {
        return nullptr;
    }
    const std::size_t queries = found.count<std::uint32_t>();
    const auto* starts = first.as<const std::uint64_t>();
    bool fits = k > 0 && first.count<std::uint64_t>() == queries + 1 &&
                word.count<std::uint32_t>() == count.count<std::uint32_t>() &&
                document.count<std::uint32_t>() == queries * static_cast<std::size_t>(k) &&
                score.count<std::uint64_t>() == queries * static_cast<std::size_t>(k);
    for (std::size_t i = 0; fits && i < queries; ++i) fits = starts[i] <= starts[i + 1];
    if (!fits || starts[queries] > word.count<std::uint32_t>()) {
        PyErr_SetString(PyExc_ValueError, "the arrays of the queries and of the answers do not fit each other");
        return nullptr;
    }
    const Answer answer{static_cast<std::size_t>(k), document.as<std::uint32_t>(), score.as<std::uint64_t>(),
                        found.as<std::uint32_t>()};
    const Searcher& searcher = *reinterpret_cast<SearcherObject*>(self)->searcher;
    bool memory = true;
    Py_BEGIN_ALLOW_THREADS
    try {
        search(searcher, starts, word.as<const std::uint32_t>(), count.as<const std::uint32_t>(), queries, answer);
    } catch (const std::bad_alloc&) {
        memory = false;
    }
    Py_END_ALLOW_THREADS
    if (!memory) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

PyObject* guarded_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    try {
        return searcher_new(type, args, keywords);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyObject* variants(PyObject*, PyObject*) {
    return has_avx2() ? Py_BuildValue("(ss)", "avx2", "baseline") : Py_BuildValue("(s)", "baseline");
}

PyMethodDef searcher_methods[] = {
    {"search", searcher_search, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot searcher_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(guarded_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(searcher_dealloc)},
    {Py_tp_methods, searcher_methods},
    {0, nullptr},
};

PyType_Spec searcher_spec = {
    "tertulia.retrieval._bm25.Searcher", sizeof(SearcherObject), 0, Py_TPFLAGS_DEFAULT, searcher_slots,
};

PyMethodDef module_methods[] = {
    {"variants", variants, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

int fill_module(PyObject* module) {
    PyObject* type = PyType_FromSpec(&searcher_spec);
    if (type == nullptr) return -1;
    int result = PyModule_AddObjectRef(module, "Searcher", type);
    Py_DECREF(type);
    if (result != 0) return result;
    type = tertulia::make_vocabulary_type();
    if (type == nullptr) return -1;
    result = PyModule_AddObjectRef(module, "Vocabulary", type);
    Py_DECREF(type);
    return result;
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(fill_module)},
    {0, nullptr},
};

PyModuleDef bm25_module = {
    PyModuleDef_HEAD_INIT, "tertulia.retrieval._bm25", nullptr, 0, module_methods, module_slots, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__bm25() { return PyModuleDef_Init(&bm25_module); }
