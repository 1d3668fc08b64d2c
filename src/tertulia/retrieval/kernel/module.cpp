// The Python side: the type `Searcher`, which holds the segments of one commit and answers queries about them.
//
// Only the limited API of Python 3.11 is used, so one build serves every later version.
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search.hpp"
#include "words.hpp"

namespace {

using tertulia::Bits;
using tertulia::Hit;
using tertulia::Segment;

// ---------------------------------------------------------------- buffers

// A borrowed, contiguous, read-only buffer, released when it goes.
class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (held_) PyBuffer_Release(&view_);
    }

    bool take(PyObject* object) {
        held_ = PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) == 0;
        return held_;
    }
    template <class T>
    const T* as() const { return static_cast<const T*>(view_.buf); }
    template <class T>
    std::size_t count() const { return static_cast<std::size_t>(view_.len) / sizeof(T); }

private:
    Py_buffer view_{};
    bool held_ = false;
};

// The arrays of a segment, in the order in which engine.py gives them.
enum Part {
    kRow, kSignature, kTerm, kNorm, kContextFirst, kContextRow, kContextBlock, kContextLeast, kContextMost, kResponseFirst,
    kResponseRow, kResponseBlock, kResponseLeast, kWeight, kWordBit, kWordOffset, kWordBytes, kWordSlot, kDialogueRow,
    kDialogueNumber, kAbsentWords, kDeadDialogues, kParts
};

struct OpenSegment {
    Buffer part[kParts];
    Segment segment;
};

// The sizes that Python has checked too; here they keep this file right on its own.
bool fits(const OpenSegment& open) {
    const Buffer* part = open.part;
    const Segment& segment = open.segment;
    const std::size_t rows = segment.rows, words = segment.words, dialogues = segment.dialogues;
    const std::size_t slots = part[kWordSlot].count<std::uint32_t>();
    const auto lists_fit = [&](Part first, Part row, Part block, Part least) {
        return part[first].count<std::uint32_t>() == words + 1 && part[block].count<std::uint32_t>() == words &&
               part[first].as<std::uint32_t>()[words] == part[row].count<std::uint32_t>() &&
               part[least].count<float>() >= part[row].count<std::uint32_t>() / tertulia::kBlock;
    };
    return part[kNorm].count<double>() == rows && part[kSignature].count<std::uint64_t>() == rows && part[kWordBit].count<char>() == words &&
           part[kWordOffset].count<std::uint32_t>() == words + 1 && slots > 0 && (slots & (slots - 1)) == 0 &&
           part[kDialogueRow].count<std::uint32_t>() == dialogues + 1 &&
           part[kDialogueRow].as<std::uint32_t>()[dialogues] == rows &&
           part[kWordOffset].as<std::uint32_t>()[words] == part[kWordBytes].count<char>() &&
           lists_fit(kContextFirst, kContextRow, kContextBlock, kContextLeast) &&
           lists_fit(kResponseFirst, kResponseRow, kResponseBlock, kResponseLeast) &&
           part[kContextMost].count<float>() == part[kContextLeast].count<float>();
}

// Fills `open` from a tuple of the parts and whether terms are 32-bit; false with a Python error set.
bool open_segment(PyObject* parts, OpenSegment& open) {
    if (!PyTuple_Check(parts) || PyTuple_Size(parts) != kParts + 1) {
        PyErr_Format(PyExc_TypeError, "a segment is a tuple of %d parts", kParts + 1);
        return false;
    }
    for (int i = 0; i < kParts; ++i) {
        if (!open.part[i].take(PyTuple_GetItem(parts, i))) return false;
    }
    const Buffer* part = open.part;
    Segment& segment = open.segment;
    if (part[kRow].count<tertulia::Row>() == 0 || part[kDialogueRow].count<std::uint32_t>() == 0) {
        PyErr_SetString(PyExc_ValueError, "a segment without records");
        return false;
    }
    segment.wide_terms = PyObject_IsTrue(PyTuple_GetItem(parts, kParts)) == 1;
    segment.rows = static_cast<std::uint32_t>(part[kRow].count<tertulia::Row>() - 1);
    segment.words = static_cast<std::uint32_t>(part[kWeight].count<double>());
    segment.dialogues = static_cast<std::uint32_t>(part[kDialogueNumber].count<std::int64_t>());
    segment.terms = segment.wide_terms ? part[kTerm].count<std::uint32_t>() : part[kTerm].count<std::uint16_t>();
    if (!fits(open)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of a segment do not fit each other");
        return false;
    }
    segment.row = part[kRow].as<tertulia::Row>();
    segment.signature = part[kSignature].as<std::uint64_t>();
    segment.term = part[kTerm].as<void>();
    segment.norm = part[kNorm].as<double>();
    segment.context = {part[kContextFirst].as<std::uint32_t>(), part[kContextRow].as<std::uint32_t>(),
                       part[kContextBlock].as<std::uint32_t>(), part[kContextLeast].as<float>()};
    segment.response = {part[kResponseFirst].as<std::uint32_t>(), part[kResponseRow].as<std::uint32_t>(),
                        part[kResponseBlock].as<std::uint32_t>(), part[kResponseLeast].as<float>()};
    segment.context_most = part[kContextMost].as<float>();
    segment.weight = part[kWeight].as<double>();
    segment.word_bit = part[kWordBit].as<std::uint8_t>();
    segment.word_offset = part[kWordOffset].as<std::uint32_t>();
    segment.word_bytes = part[kWordBytes].as<char>();
    segment.word_slot = part[kWordSlot].as<std::uint32_t>();
    segment.slot_mask = static_cast<std::uint32_t>(part[kWordSlot].count<std::uint32_t>() - 1);
    segment.dialogue_row = part[kDialogueRow].as<std::uint32_t>();
    segment.dialogue_number = part[kDialogueNumber].as<std::int64_t>();

    segment.opens.assign(segment.rows + 1);
    for (std::uint32_t i = 0; i <= segment.dialogues; ++i) {
        if (segment.dialogue_row[i] <= segment.rows) segment.opens.set(segment.dialogue_row[i]);
    }
    const std::uint32_t* absent = part[kAbsentWords].as<std::uint32_t>();
    segment.absent.assign(absent, absent + part[kAbsentWords].count<std::uint32_t>());
    const std::size_t dead = part[kDeadDialogues].count<std::uint32_t>();
    if (dead > 0) segment.dead.assign(segment.rows);
    for (std::size_t i = 0; i < dead; ++i) {
        const std::uint32_t dialogue = part[kDeadDialogues].as<std::uint32_t>()[i];
        if (dialogue >= segment.dialogues) continue;
        for (std::uint32_t row = segment.dialogue_row[dialogue]; row < segment.dialogue_row[dialogue + 1]; ++row) {
            if (row < segment.rows) segment.dead.set(row);
        }
    }
    return true;
}

// ---------------------------------------------------------------- queries

struct Variant {
    const char* name;
    tertulia::SearchFunction search;
};

std::vector<Variant> runnable_variants() {
    std::vector<Variant> variants;
#ifdef TERTULIA_HAS_AVX2_VARIANT
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        variants.push_back({"avx2", tertulia::avx2::search_segment});
    }
#endif
    variants.push_back({"baseline", tertulia::baseline::search_segment});
    return variants;
}

struct Searcher {
    std::vector<std::unique_ptr<OpenSegment>> segments;
    tertulia::SearchFunction search = nullptr;
    double unknown = 0;  // the weight to the power 6 of a word that no utterance of the bank has
    PyObject* match_type = nullptr;

    ~Searcher() { Py_XDECREF(match_type); }
};

enum class Outcome { kFound, kNotForUs, kDamaged };

struct Request {
    std::size_t k = 0;
    double bonus = 0, lam = 0;
    const std::uint32_t* topic_rows = nullptr;  // a start and an end for each segment, or none
};

using Words = std::vector<std::string_view>;

tertulia::QueryWord query_word(const Segment& segment, std::uint32_t word) {
    const double weight = segment.weight[word], second = weight * weight, fourth = second * second;
    return {word, second, fourth * second, fourth * fourth};
}

// Makes room for the words of the largest segment: a power of two, as SegmentSearch needs it.
void grow(tertulia::Scratch& scratch, std::size_t words) {
    std::size_t size = std::max<std::size_t>(scratch.slot.size(), 1);
    while (size < words) size *= 2;
    scratch.slot.resize(size, 0);
    scratch.previous_slot.resize(size, 0);
}

Outcome search(const Searcher& searcher, const Words& words, const Words& previous, const Request& request,
               std::vector<Hit>& hits) {
    static thread_local tertulia::Scratch scratch;
    const std::size_t count = searcher.segments.size();
    std::vector<tertulia::SegmentQuery> queries(count);
    double total = 0;
    for (const std::string_view& word : words) {
        double sixth = searcher.unknown;
        bool known = false;
        for (std::size_t i = 0; i < count; ++i) {
            const Segment& segment = searcher.segments[i]->segment;
            const std::int64_t found = segment.find(word);
            if (found < 0) continue;
            queries[i].words.push_back(query_word(segment, static_cast<std::uint32_t>(found)));
            if (!known) sixth = queries[i].words.back().sixth;
            known = true;
        }
        total += sixth;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Segment& segment = searcher.segments[i]->segment;
        for (const std::string_view& word : previous) {
            const std::int64_t found = segment.find(word);
            if (found >= 0) queries[i].previous.push_back(query_word(segment, static_cast<std::uint32_t>(found)));
        }
        if (queries[i].words.size() > tertulia::kMostWords || queries[i].previous.size() > tertulia::kMostWords) {
            return Outcome::kNotForUs;
        }
        if (request.topic_rows != nullptr) {
            queries[i].topic_start = request.topic_rows[2 * i];
            queries[i].topic_end = request.topic_rows[2 * i + 1];
        }
        grow(scratch, segment.words);
    }
    const tertulia::Parameters parameters{std::sqrt(total), request.bonus, request.lam};
    tertulia::TopK top(request.k);
    bool sound = true;
    for (std::size_t i = 0; i < count; ++i) {
        sound &= searcher.search(searcher.segments[i]->segment, queries[i], parameters, top, scratch);
    }
    if (!sound) return Outcome::kDamaged;
    hits = std::move(top.hits());
    for (Hit& hit : hits) hit.look_up();
    return Outcome::kFound;
}

// ---------------------------------------------------------------- answers

// `Match` is a named tuple; calling its type's slot skips the Python function that checks and names the fields.
PyObject* make_match(PyObject* match_type, const Hit& hit) {
    static const newfunc new_tuple = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
    PyObject* fields = Py_BuildValue("((Ldd))", static_cast<long long>(hit.number), hit.score, hit.norm);
    if (fields == nullptr) return nullptr;
    PyObject* match = new_tuple(reinterpret_cast<PyTypeObject*>(match_type), fields, nullptr);
    Py_DECREF(fields);
    return match;
}

PyObject* make_answer(PyObject* match_type, Outcome outcome, const std::vector<Hit>& hits) {
    if (outcome == Outcome::kNotForUs) Py_RETURN_NONE;
    if (outcome == Outcome::kDamaged) {
        PyErr_SetString(PyExc_ValueError, "a list names what its segment has not");
        return nullptr;
    }
    PyObject* answer = PyList_New(static_cast<Py_ssize_t>(hits.size()));
    if (answer == nullptr) return nullptr;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        PyObject* match = make_match(match_type, hits[i]);
        if (match == nullptr || PyList_SetItem(answer, static_cast<Py_ssize_t>(i), match) != 0) {
            Py_DECREF(answer);
            return nullptr;
        }
    }
    return answer;
}

// k, topic rows (a buffer of 32-bit pairs, or None), bonus, lam: the arguments after the two texts.
bool parse_request(const Searcher& searcher, PyObject* const* args, Buffer& topic, Request& request) {
    const long long k = PyLong_AsLongLong(args[0]);
    request.bonus = PyFloat_AsDouble(args[2]);
    request.lam = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return false;
    request.k = k < 1 ? 0 : static_cast<std::size_t>(k);
    if (args[1] != Py_None) {
        if (!topic.take(args[1])) return false;
        if (topic.count<std::uint32_t>() != 2 * searcher.segments.size()) {
            PyErr_SetString(PyExc_ValueError, "two row numbers for each segment are needed");
            return false;
        }
        request.topic_rows = topic.as<std::uint32_t>();
    }
    return true;
}

// Searches without the interpreter's lock, so that other threads run meanwhile.
PyObject* answer(const Searcher& searcher, const Words& words, const Words& previous, const Request& request) {
    std::vector<Hit> hits;
    Outcome outcome = Outcome::kNotForUs;
    bool memory = true;
    Py_BEGIN_ALLOW_THREADS
    try {
        outcome = search(searcher, words, previous, request, hits);
    } catch (const std::bad_alloc&) {
        memory = false;
    }
    Py_END_ALLOW_THREADS
    if (!memory) return PyErr_NoMemory();
    return make_answer(searcher.match_type, outcome, hits);
}

// ---------------------------------------------------------------- the type

struct SearcherObject {
    PyObject_HEAD
    Searcher* searcher;
};

Searcher& searcher_of(PyObject* self) { return *reinterpret_cast<SearcherObject*>(self)->searcher; }

PyObject* searcher_new(PyTypeObject* type, PyObject* args, PyObject*) {
    const char* variant = nullptr;
    double unknown = 0;
    PyObject *match_type = nullptr, *segments = nullptr;
    if (!PyArg_ParseTuple(args, "sdOO!", &variant, &unknown, &match_type, &PyTuple_Type, &segments)) return nullptr;
    auto searcher = std::make_unique<Searcher>();
    for (const Variant& known : runnable_variants()) {
        if (std::string_view(known.name) == variant) searcher->search = known.search;
    }
    if (searcher->search == nullptr) {
        PyErr_Format(PyExc_ValueError, "there is no variant %s for this processor", variant);
        return nullptr;
    }
    if (!PyType_Check(match_type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(match_type), &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of a match is a tuple");
        return nullptr;
    }
    Py_INCREF(match_type);
    searcher->match_type = match_type;
    searcher->unknown = unknown;
    for (Py_ssize_t i = 0; i < PyTuple_Size(segments); ++i) {
        searcher->segments.push_back(std::make_unique<OpenSegment>());
        if (!open_segment(PyTuple_GetItem(segments, i), *searcher->segments.back())) return nullptr;
    }
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* self = allocate(type, 0);
    if (self != nullptr) reinterpret_cast<SearcherObject*>(self)->searcher = searcher.release();
    return self;
}

void searcher_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    delete reinterpret_cast<SearcherObject*>(self)->searcher;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

// The text as UTF-8, or nothing, with no error left, where it has none (lone surrogates).
bool utf8(PyObject* text, std::string_view& out) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == nullptr) return false;
    out = std::string_view(data, static_cast<std::size_t>(size));
    return true;
}

PyObject* searcher_search(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "search takes text, previous, k, topic rows, bonus, lam");
        return nullptr;
    }
    const Searcher& searcher = searcher_of(self);
    Buffer topic;
    Request request;
    if (!parse_request(searcher, args + 2, topic, request)) return nullptr;
    if (request.k == 0 || request.k > tertulia::kMostResponses) Py_RETURN_NONE;
    std::string_view text, previous;
    if (!utf8(args[0], text) || !utf8(args[1], previous)) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return nullptr;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    std::string text_buffer, previous_buffer;
    Words words, previous_words;
    if (!tertulia::ascii_words(text, text_buffer, words) ||
        !tertulia::ascii_words(previous, previous_buffer, previous_words)) {
        Py_RETURN_NONE;
    }
    return answer(searcher, words, previous_words, request);
}

// Views of a list of bytes, which the caller keeps alive.
bool views_of(PyObject* list, Words& words) {
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "words are a list of bytes");
        return false;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
        char* data = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &data, &size) != 0) return false;
        words.emplace_back(data, static_cast<std::size_t>(size));
    }
    return true;
}

PyObject* searcher_search_words(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "search_words takes words, previous words, k, topic rows, bonus, lam");
        return nullptr;
    }
    const Searcher& searcher = searcher_of(self);
    Buffer topic;
    Request request;
    if (!parse_request(searcher, args + 2, topic, request)) return nullptr;
    if (request.k == 0 || request.k > tertulia::kMostResponses) Py_RETURN_NONE;
    Words words, previous;
    if (!views_of(args[0], words) || !views_of(args[1], previous)) return nullptr;
    return answer(searcher, words, previous, request);
}

// Functions that may allocate give memory errors to Python instead of ending the process.
template <PyObject* (*Function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyObject* guarded(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    try {
        return Function(self, args, count);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyObject* guarded_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    try {
        return searcher_new(type, args, keywords);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

template <PyObject* (*Function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyCFunction fast() {
    // The interpreter calls it with the arguments that METH_FASTCALL promises.
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(guarded<Function>));
}

PyObject* variants(PyObject*, PyObject*) {
    const std::vector<Variant> all = runnable_variants();
    PyObject* names = PyTuple_New(static_cast<Py_ssize_t>(all.size()));
    for (std::size_t i = 0; names != nullptr && i < all.size(); ++i) {
        PyTuple_SetItem(names, static_cast<Py_ssize_t>(i), PyUnicode_FromString(all[i].name));
    }
    return names;
}

PyObject* tokenise(PyObject*, PyObject* text) {
    std::string_view bytes;
    if (!utf8(text, bytes)) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return nullptr;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    try {
        std::string buffer;
        Words words;
        if (!tertulia::ascii_words(bytes, buffer, words)) Py_RETURN_NONE;
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(words.size()));
        for (std::size_t i = 0; list != nullptr && i < words.size(); ++i) {
            PyObject* word = PyUnicode_FromStringAndSize(words[i].data(), static_cast<Py_ssize_t>(words[i].size()));
            if (word == nullptr) {
                Py_DECREF(list);
                return nullptr;
            }
            PyList_SetItem(list, static_cast<Py_ssize_t>(i), word);
        }
        return list;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyMethodDef searcher_methods[] = {
    {"search", fast<searcher_search>(), METH_FASTCALL, nullptr},
    {"search_words", fast<searcher_search_words>(), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot searcher_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(guarded_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(searcher_dealloc)},
    {Py_tp_methods, searcher_methods},
    {0, nullptr},
};

PyType_Spec searcher_spec = {
    "tertulia.retrieval._kernel.Searcher", sizeof(SearcherObject), 0, Py_TPFLAGS_DEFAULT, searcher_slots,
};

PyMethodDef module_methods[] = {
    {"variants", variants, METH_NOARGS, nullptr},
    {"distinct_ascii_words", tokenise, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

int fill_module(PyObject* module) {
    PyObject* type = PyType_FromSpec(&searcher_spec);
    if (type == nullptr) return -1;
    const int result = PyModule_AddObjectRef(module, "Searcher", type);
    Py_DECREF(type);
    return result;
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(fill_module)},
    {0, nullptr},
};

PyModuleDef kernel_module = {
    PyModuleDef_HEAD_INIT, "tertulia.retrieval._kernel", nullptr, 0, module_methods, module_slots, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__kernel() { return PyModuleDef_Init(&kernel_module); }
