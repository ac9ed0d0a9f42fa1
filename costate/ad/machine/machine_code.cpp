#include "costate/ad/machine/machine_code.h"

#include <algorithm>
#include <new>

#include "costate/ad/machine/code_memory.h"

namespace costate::ad {
namespace {

template <class T>
void fill_pool(const StraightCode& code, int pack, std::byte* to) {
  const int lanes = pack / static_cast<int>(sizeof(T));
  T* next = reinterpret_cast<T*>(to);
  for (int i = 0; i < x86::kLiterals; ++i) {
    next = std::fill_n(next, lanes, x86::literal_value<T>(static_cast<x86::Literal>(i)));
  }
  for (const double constant : code.constants) next = std::fill_n(next, lanes, static_cast<T>(constant));
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

FrameLayout frame_layout(const StraightCode& code, bool one_world, int strip_packs) {
  const std::size_t inputs = code.input_slots, outputs = code.output_slots.size();
  const std::size_t pack = pack_bytes(one_world);
  const std::size_t shared = one_world ? outputs : std::min(code.instructions.size(), kMaxShared);
  FrameLayout frame;
  frame.pack = static_cast<std::int32_t>(pack);
  frame.output_packs = static_cast<std::int32_t>(inputs * pack);
  frame.strips = static_cast<std::int32_t>((inputs + shared) * pack);
  frame.strip = one_world ? frame.pack : frame.pack * strip_packs;
  frame.inputs = static_cast<std::uint32_t>(inputs);
  frame.one_world = one_world;
  return frame;
}

template <class T>
MachineCode::Pointer MachineCode::make(const StraightCode& code, const CallShape& shape,
                                       int strip_packs) try {
  PageResource pages;
  alignas(std::max_align_t) std::byte first[32 * 1024];  // enough for small programs
  std::pmr::monotonic_buffer_resource memory(first, sizeof(first), &pages);
  const LaneCode lanes = make_lane_code(code, shape, &memory);
  const FrameLayout frame = frame_layout(code, shape.one_world, strip_packs);
  x86::Encoder encoder(frame.pack, &memory);
  BlockWriter writer(lanes, frame, encoder, sizeof(T) == 8, &memory);
  std::pmr::vector<Segment> segments(&memory);
  for (const LaneSegment& s : lanes.segments) {
    Segment segment;
    segment.is_function = s.is_function;
    segment.once = s.once;
    if (s.is_function) {
      const LaneStep& step = lanes.steps[s.first];
      segment.op = step.op;
      segment.exponent = step.exponent;
      segment.out = lanes.values[step.value];
      segment.a = lanes.values[step.operand[0]];
      segment.b = lanes.values[step.operand[step.arity > 1 ? 1 : 0]];
    } else {
      encoder.align(64);
      segment.entry = static_cast<std::uint32_t>(encoder.position());
      writer.write(s);
    }
    segments.push_back(segment);
  }

  // One run of pages: this object, the segments, the pool, the code.
  const std::size_t pack = frame.pack;
  const std::size_t segments_at = rounded_up(sizeof(MachineCode), alignof(Segment));
  const std::size_t pool_at = rounded_up(segments_at + segments.size() * sizeof(Segment), 64);
  const std::size_t code_at = rounded_up(pool_at + (x86::kLiterals + code.constants.size()) * pack, 64);
  const std::size_t bytes = rounded_up(code_at + encoder.code().size(), 4096);
  auto* const start = static_cast<std::byte*>(allocate_pages(bytes));
  if (start == nullptr) return nullptr;
  auto* const result = new (start) MachineCode;
  result->shape_ = shape;
  result->frame_ = frame;
  result->pages_ = bytes;
  result->segments_ = reinterpret_cast<const Segment*>(start + segments_at);
  result->segment_count_ = segments.size();
  result->pool_ = start + pool_at;
  result->code_ = reinterpret_cast<const std::uint8_t*>(start + code_at);
  result->code_bytes_ = encoder.code().size();
  std::uninitialized_copy(segments.begin(), segments.end(), reinterpret_cast<Segment*>(start + segments_at));
  fill_pool<T>(code, frame.pack, start + pool_at);
  std::copy(encoder.code().begin(), encoder.code().end(), reinterpret_cast<std::uint8_t*>(start + code_at));
  if (make_executable(start, bytes)) return Pointer(result);
  free_pages(start, bytes);
  return nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void MachineCode::Free::operator()(const MachineCode* code) const {
  const std::size_t bytes = code->pages_;
  free_pages(const_cast<MachineCode*>(code), bytes);
}

template MachineCode::Pointer MachineCode::make<float>(const StraightCode&, const CallShape&, int);
template MachineCode::Pointer MachineCode::make<double>(const StraightCode&, const CallShape&, int);

}  // namespace costate::ad
