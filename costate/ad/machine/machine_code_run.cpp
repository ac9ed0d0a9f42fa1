#include "costate/ad/machine/machine_code_run.h"

#include <algorithm>
#include <cstdint>

#include "costate/ad/interpret_strip.h"

namespace costate::ad {
namespace {

constexpr std::size_t kLine = kAlignment;

std::size_t whole_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

template <class T>
struct Range {
  const T *begin, *end;
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

template <class Block>
auto range_of(const Block& block, int elements, std::ptrdiff_t worlds) {
  using T = std::remove_cvref_t<decltype(*block.data)>;
  if (elements == 0) return Range<T>{nullptr, nullptr};
  return Range<T>{block.data, block.data + (elements - 1) * block.stride + worlds};
}

// One world's number, in every lane. Stored as one vector: the code loads it as one, and parts would have to
// reach the cache first.
template <class T>
using OnePack = Pack<T, pack_bytes(true) / static_cast<int>(sizeof(T))>;

template <class T>
class Frame {
 public:
  Frame(const MachineCode& machine, const StraightCode& code, std::byte* scratch)
      : machine_(machine), layout_(machine.frame()) {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch);
    table_ = reinterpret_cast<void**>(scratch + (kLine - address % kLine) % kLine);
    const std::size_t pointers = layout_.one_world ? 0 : code.input_slots + code.output_slots.size();
    frame_ = reinterpret_cast<std::byte*>(table_) + whole_lines(pointers * sizeof(void*));
    edges_ = frame_ + layout_.strips + code.register_count * strip_bytes();
  }

  std::size_t strip_bytes() const { return layout_.strip; }
  T* shared_pack(std::size_t i) const {
    return reinterpret_cast<T*>(frame_ + i * static_cast<std::size_t>(layout_.pack));
  }
  // A strip for input or output i of the table.
  T* edge_strip(std::size_t i) const { return reinterpret_cast<T*>(edges_ + i * strip_bytes()); }
  void*& pointer(std::size_t i) const { return table_[i]; }

  COSTATE_INLINE void run(bool once, std::size_t packs) const {
    for (const MachineCode::Segment& s : machine_.segments()) {
      if (s.once != once) continue;
      if (!s.is_function) {
        machine_.call(s, frame_, table_, packs);
      } else if (layout_.one_world) {
        const T value = function_value<T>(s.op, *strip(s.a).data, *strip(s.b).data, s.exponent);
        OnePack<T>(value).store(const_cast<T*>(strip(s.out).data));
      } else {
        function_strip<T>(s.op, const_cast<T*>(strip(s.out).data), strip(s.a), strip(s.b), s.exponent,
                          static_cast<int>(packs));
      }
    }
  }

 private:
  Strip<T> strip(Place place) const {
    const std::ptrdiff_t lanes = layout_.pack / static_cast<int>(sizeof(T));
    const std::size_t i = place.index, pack = static_cast<std::size_t>(layout_.pack);
    switch (place.home) {
      case Home::pool:
        return {reinterpret_cast<const T*>(machine_.pool() + i * pack), 0};
      case Home::shared:
        return {reinterpret_cast<const T*>(frame_ + i * pack), 0};
      case Home::strip:
        return {
            reinterpret_cast<const T*>(frame_ + static_cast<std::size_t>(layout_.strips) + i * strip_bytes()),
            lanes};
      case Home::input:
        break;
    }
    return {static_cast<const T*>(table_[i]), lanes};
  }

  const MachineCode& machine_;
  const FrameLayout& layout_;
  void** table_;
  std::byte *frame_, *edges_;
};

}  // namespace

std::size_t machine_code_scratch(const StraightCode& code, int strip_packs) {
  const FrameLayout frame = frame_layout(code, false, strip_packs);
  const std::size_t edges = code.input_slots + code.output_slots.size();
  return kLine + whole_lines(edges * sizeof(void*)) + static_cast<std::size_t>(frame.strips) +
         (code.register_count + edges) * static_cast<std::size_t>(frame.strip);
}

template <class T>
bool outputs_are_apart(const StraightCode& code, std::span<const OutputBlock<T>> outputs,
                       std::ptrdiff_t worlds) {
  for (std::size_t f = 1; f < outputs.size(); ++f) {
    const auto range = range_of(outputs[f], code.output_sizes[f], worlds);
    for (std::size_t g = 0; g < f; ++g) {
      if (range.overlaps(range_of(outputs[g], code.output_sizes[g], worlds))) return false;
    }
  }
  return true;
}

template <class T>
void run_one_world(const MachineCode& machine, const StraightCode& code,
                   std::span<const InputBlock<T>> inputs, std::span<const OutputBlock<T>> outputs,
                   std::byte* scratch) {
  // A small program is over in the time of these loops: what they read is copied first, since the compiler
  // must assume that a store changes it.
  const Frame<T> frame(machine, code, scratch);
  constexpr int kStep = OnePack<T>::lanes;
  T* pack = frame.shared_pack(0);
  const int* size = code.input_sizes.data();
  for (const InputBlock<T>& input : inputs) {
    const T* from = input.data;
    const std::ptrdiff_t stride = input.stride;
    for (T* const end = pack + kStep * *size++; pack != end; pack += kStep, from += stride)
      OnePack<T>(*from).store(pack);
  }
  frame.run(false, 1);
  size = code.output_sizes.data();
  for (const OutputBlock<T>& output : outputs) {
    T* to = output.data;
    const std::ptrdiff_t stride = output.stride;
    T* const end = pack + kStep * *size++;
    if (output.add) {
      for (; pack != end; pack += kStep, to += stride) *to += *pack;
    } else {
      for (; pack != end; pack += kStep, to += stride) *to = *pack;
    }
  }
}

template <class T>
void run_strips(const MachineCode& machine, const StraightCode& code, std::span<const InputBlock<T>> inputs,
                std::span<const OutputBlock<T>> outputs, std::ptrdiff_t worlds, std::byte* scratch) {
  const Frame<T> frame(machine, code, scratch);
  using P = NativePack<T>;
  const auto strip = static_cast<std::ptrdiff_t>(frame.strip_bytes() / sizeof(T));
  std::bitset<kMaxFields> overlapped;
  std::size_t element = 0;
  for (std::size_t f = 0; f < inputs.size(); ++f) {
    const InputBlock<T>& block = inputs[f];
    if (block.broadcast) {
      for (int i = 0; i < code.input_sizes[f]; ++i)
        P(block.data[i * block.stride]).store(frame.shared_pack(element + static_cast<std::size_t>(i)));
    } else {
      const auto read = range_of(block, code.input_sizes[f], worlds);
      for (std::size_t g = 0; g < outputs.size(); ++g) {
        if (read.overlaps(range_of(outputs[g], code.output_sizes[g], worlds))) overlapped.set(f);
      }
    }
    element += static_cast<std::size_t>(code.input_sizes[f]);
  }
  frame.run(true, 1);

  for (std::ptrdiff_t first = 0; first < worlds; first += strip) {
    const std::ptrdiff_t here = std::min(strip, worlds - first);
    const bool whole = here % P::lanes == 0;
    element = 0;
    for (std::size_t f = 0; f < inputs.size(); ++f) {
      const InputBlock<T>& block = inputs[f];
      for (int i = 0; i < code.input_sizes[f]; ++i, ++element) {
        if (block.broadcast) continue;
        const T* from = block.data + i * block.stride + first;
        if (!whole || overlapped[f]) {
          load_strip(from, frame.edge_strip(element), here);
          from = frame.edge_strip(element);
        }
        frame.pointer(element) = const_cast<T*>(from);
      }
    }
    for (std::size_t f = 0; f < outputs.size(); ++f) {
      const OutputBlock<T>& block = outputs[f];
      for (int i = 0; i < code.output_sizes[f]; ++i, ++element) {
        T* const to = block.data + i * block.stride + first;
        if (!whole && block.add) load_strip<T>(to, frame.edge_strip(element), here);
        frame.pointer(element) = whole ? to : frame.edge_strip(element);
      }
    }
    frame.run(false, static_cast<std::size_t>((here + P::lanes - 1) / P::lanes));
    if (whole) continue;
    element = code.input_slots;
    for (std::size_t f = 0; f < outputs.size(); ++f) {
      const OutputBlock<T>& block = outputs[f];
      for (int i = 0; i < code.output_sizes[f]; ++i, ++element) {
        const Strip<T> result{frame.edge_strip(element), P::lanes};
        store_strip(result, block.data + i * block.stride + first, here, false);
      }
    }
  }
}

#define COSTATE_INSTANTIATE(T)                                                                           \
  template bool outputs_are_apart(const StraightCode&, std::span<const OutputBlock<T>>, std::ptrdiff_t); \
  template void run_strips(const MachineCode&, const StraightCode&, std::span<const InputBlock<T>>,      \
                           std::span<const OutputBlock<T>>, std::ptrdiff_t, std::byte*);                 \
  template void run_one_world(const MachineCode&, const StraightCode&, std::span<const InputBlock<T>>,   \
                              std::span<const OutputBlock<T>>, std::byte*);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::ad
