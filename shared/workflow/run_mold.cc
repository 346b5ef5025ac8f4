#include "shared/workflow/run_mold.h"

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/journal/trie.h"
#include "shared/workflow/first_event.h"

namespace acl::workflow {

namespace {

// Values of a mold, in this order; the inputs' follow.
enum : std::size_t { kId, kTrace, kSpan, kRoot, kInputs };
constexpr std::size_t kTraceDigits = 32, kSpanDigits = 16;

bool IsHex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string RandomHex(std::size_t digits) {
  SystemRandom random;
  std::string hex;
  while (hex.size() < digits) {
    const std::uint64_t word = random.Next();
    hex += ToHex(&word, sizeof word);
  }
  return hex.substr(0, digits);
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

std::string RootOf(const Document& state) { return ToHex(state.Root()); }

}  // namespace

MoldText::MoldText(std::string_view text, const std::vector<std::string>& marks) {
  std::vector<std::pair<std::size_t, std::size_t>> found;  // where, which
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].empty()) continue;
    for (std::size_t at = text.find(marks[i]); at != std::string_view::npos; at = text.find(marks[i], at + marks[i].size())) {
      found.emplace_back(at, i);
    }
  }
  std::sort(found.begin(), found.end());
  std::size_t from = 0;
  for (const auto& [at, i] : found) {
    text_ += text.substr(from, at - from);
    places_.push_back({text_.size(), i});
    from = at + marks[i].size();
  }
  text_ += text.substr(from);
}

std::string MoldText::Fill(const std::vector<std::string_view>& values) const {
  std::size_t size = text_.size();
  for (const Place& place : places_) size += values[place.value].size();
  std::string filled;
  filled.reserve(size);
  std::size_t from = 0;
  for (const Place& place : places_) {
    filled.append(text_, from, place.at - from);
    filled += values[place.value];
    from = place.at;
  }
  filled.append(text_, from);
  return filled;
}

std::optional<MoldShape> MoldShape::Of(const CreateRequest& request, const Json& inputs) {
  constexpr std::size_t kMostInputs = 32;
  const TraceContext& trace = request.trace;
  if (!request.session_id.empty() || request.task || !request.requesters.empty() || !request.files.empty() || inputs.size() > kMostInputs)
    return std::nullopt;
  if (!trace.trace_id.empty() && !IsHex(trace.trace_id, kTraceDigits)) return std::nullopt;
  if (!trace.span_id.empty() && !IsHex(trace.span_id, kSpanDigits)) return std::nullopt;
  MoldShape shape{request.submitter, {}, !trace.trace_id.empty(), !trace.span_id.empty(), trace.sampled};
  shape.inputs.reserve(inputs.size());
  for (auto it = inputs.begin(); it != inputs.end(); ++it) shape.inputs.push_back(it.key());
  return shape;
}

Result<std::shared_ptr<const RunMold>> RunMold::Cast(const SubjectKind& kind, const WorkflowSpec& spec, const MoldShape& shape) {
  SystemRandom random;
  CreateRequest marked;
  for (auto& byte : marked.subject.uuid.bytes) byte = std::uint8_t(random.Next());
  marked.submitter = shape.submitter;
  if (shape.trace) marked.trace.trace_id = RandomHex(kTraceDigits);
  if (shape.span) marked.trace.span_id = RandomHex(kSpanDigits);
  marked.trace.sampled = shape.sampled;
  std::vector<std::string> marks = {marked.subject.ToString(), marked.trace.trace_id, marked.trace.span_id, ""};
  Json inputs = Json::object();
  for (const std::string& name : shape.inputs) {
    const std::string mark = RandomHex(kTraceDigits);
    inputs[name] = mark;
    marks.push_back(Quoted(mark));
  }
  auto first = WordFirstEvent(kind, spec, marked, std::move(inputs), Json::object());
  if (!first) return first.error();
  marks[kRoot] = RootOf(first->state);

  auto payload = ParsePayload(first->event);
  if (!payload) return payload.error();
  std::shared_ptr<RunMold> mold(new RunMold);
  mold->type_ = first->event.type;
  mold->payload_ = MoldText(*first->event.payload, marks);
  mold->canonical_ = MoldText(CanonicalJson(*payload), marks);
  first->state.ForEach([&](const std::string& key, const Json& value) {
    LeafHash leaf{trie::PathOf(key), {}};
    const std::string text = CanonicalJson(value);
    if (MoldText canonical(text, marks); canonical.fixed()) {
      leaf.hash = HashOfLeaf(leaf.path, Sha256(text));
    } else {
      mold->differs_.push_back({mold->leaves_.size(), std::move(canonical)});
    }
    mold->leaves_.push_back(leaf);
    return true;
  });
  return std::shared_ptr<const RunMold>(std::move(mold));
}

Poured RunMold::Pour(const CreateRequest& request, const Json& inputs) const {
  const std::string id = request.subject.ToString();
  std::vector<std::string> said, canonical;  // the inputs' values
  said.reserve(inputs.size()), canonical.reserve(inputs.size());
  for (auto it = inputs.begin(); it != inputs.end(); ++it) {
    said.push_back(DumpJson(it.value()));
    canonical.push_back(CanonicalJson(it.value()));
  }
  std::vector<std::string_view> values = {id, request.trace.trace_id, request.trace.span_id, {}};
  values.insert(values.end(), canonical.begin(), canonical.end());
  std::vector<LeafHash> leaves = leaves_;
  for (const Leaf& leaf : differs_) {
    leaves[leaf.at].hash = HashOfLeaf(leaves[leaf.at].path, Sha256(leaf.canonical.Fill(values)));
  }
  Poured poured;
  poured.state_root = RootOfLeaves(leaves);
  const std::string root = ToHex(poured.state_root);
  values[kRoot] = root;
  Event& event = poured.event;
  event.type = type_;
  event.subject = request.subject;
  event.seq = 1;
  event.checksum = Sha256(canonical_.Fill(values));
  std::copy(said.begin(), said.end(), values.begin() + kInputs);
  event.payload = payload_.Fill(values);
  event.content_hash = Sha256(*event.payload);
  return poured;
}

std::shared_ptr<const RunMold> RunMolds::Find(const MoldShape& shape, bool& due) {
  std::lock_guard lock(mutex_);
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.shape == shape; });
  if (known == known_.end()) {
    if (known_.size() >= most_) known_.pop_back();
    known_.insert(known_.begin(), Known{shape, nullptr, false});
    return nullptr;
  }
  std::rotate(known_.begin(), known, known + 1);
  Known& found = known_.front();
  due = !found.tried;
  found.tried = true;
  return found.mold;
}

void RunMolds::Keep(const MoldShape& shape, std::shared_ptr<const RunMold> mold) {
  constexpr std::size_t kLarge = 128 * 1024;
  std::lock_guard lock(mutex_);
  const bool large = mold->bytes() > kLarge;
  for (Known& known : known_) {
    if (known.shape == shape) {
      known.mold = std::move(mold);
    } else if (large) {
      known.mold = nullptr;
    }
  }
}

std::size_t RunMolds::size() const {
  std::lock_guard lock(mutex_);
  return std::size_t(std::count_if(known_.begin(), known_.end(), [](const Known& one) { return one.mold != nullptr; }));
}

Result<Poured> RunMolds::Make(const SubjectKind& kind, const WorkflowSpec& spec, const CreateRequest& request, Json inputs) {
  const auto shape = MoldShape::Of(request, inputs);
  bool due = false;
  if (shape) {
    if (auto mold = Find(*shape, due)) return mold->Pour(request, inputs);
  }
  std::optional<Poured> poured;  // to be compared
  std::shared_ptr<const RunMold> mold;
  if (due) {
    if (auto cast = RunMold::Cast(kind, spec, *shape)) {
      mold = std::move(*cast);
      poured = mold->Pour(request, inputs);
    }
  }
  auto worded = WordFirstEvent(kind, spec, request, std::move(inputs), Json::object());
  if (!worded) return worded.error();
  Poured made{std::move(worded->event), worded->state.Root()};
  if (poured && poured->event == made.event && poured->state_root == made.state_root) Keep(*shape, std::move(mold));
  return made;
}

}  // namespace acl::workflow
