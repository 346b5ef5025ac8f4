#include "shared/workflow/first_event_template.h"

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/journal/trie.h"
#include "shared/workflow/first_event.h"

namespace acl::workflow {

namespace {

// Values of a template, in this order; the inputs' follow.
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

TextTemplate::TextTemplate(std::string_view text, const std::vector<std::string>& marks) {
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

std::string TextTemplate::Fill(const std::vector<std::string_view>& values) const {
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

std::optional<TemplateShape> TemplateShape::Of(const CreateRequest& request, const Json& inputs) {
  constexpr std::size_t kMostInputs = 32;
  const TraceContext& trace = request.trace;
  if (!request.session_id.empty() || request.task || !request.requesters.empty() || !request.files.empty() || inputs.size() > kMostInputs)
    return std::nullopt;
  if (!trace.trace_id.empty() && !IsHex(trace.trace_id, kTraceDigits)) return std::nullopt;
  if (!trace.span_id.empty() && !IsHex(trace.span_id, kSpanDigits)) return std::nullopt;
  TemplateShape shape{request.submitter, {}, !trace.trace_id.empty(), !trace.span_id.empty(), trace.sampled};
  shape.inputs.reserve(inputs.size());
  for (auto it = inputs.begin(); it != inputs.end(); ++it) shape.inputs.push_back(it.key());
  return shape;
}

Result<std::shared_ptr<const FirstEventTemplate>> FirstEventTemplate::Compile(const SubjectKind& kind, const WorkflowDefinition& definition,
                                                                              const TemplateShape& shape) {
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
  auto first = WordFirstEvent(kind, definition, marked, std::move(inputs), Json::object());
  if (!first) return first.error();
  marks[kRoot] = RootOf(first->state);

  auto payload = ParsePayload(first->event);
  if (!payload) return payload.error();
  std::shared_ptr<FirstEventTemplate> event_template(new FirstEventTemplate);
  event_template->type_ = first->event.type;
  event_template->payload_ = TextTemplate(*first->event.payload, marks);
  event_template->canonical_ = TextTemplate(CanonicalJson(*payload), marks);
  first->state.ForEach([&](const std::string& key, const Json& value) {
    LeafHash leaf{trie::PathOf(key), {}};
    const std::string text = CanonicalJson(value);
    if (TextTemplate canonical(text, marks); canonical.fixed()) {
      leaf.hash = HashOfLeaf(leaf.path, Sha256(text));
    } else {
      event_template->differs_.push_back({event_template->leaves_.size(), std::move(canonical)});
    }
    event_template->leaves_.push_back(leaf);
    return true;
  });
  return std::shared_ptr<const FirstEventTemplate>(std::move(event_template));
}

InstantiatedEvent FirstEventTemplate::Instantiate(const CreateRequest& request, const Json& inputs) const {
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
  InstantiatedEvent instantiated;
  instantiated.state_root = RootOfLeaves(leaves);
  const std::string root = ToHex(instantiated.state_root);
  values[kRoot] = root;
  Event& event = instantiated.event;
  event.type = type_;
  event.subject = request.subject;
  event.seq = 1;
  event.checksum = Sha256(canonical_.Fill(values));
  std::copy(said.begin(), said.end(), values.begin() + kInputs);
  event.payload = payload_.Fill(values);
  event.content_hash = Sha256(*event.payload);
  return instantiated;
}

std::shared_ptr<const FirstEventTemplate> FirstEventTemplates::Find(const TemplateShape& shape, bool& due) {
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
  return found.event_template;
}

void FirstEventTemplates::Keep(const TemplateShape& shape, std::shared_ptr<const FirstEventTemplate> event_template) {
  constexpr std::size_t kLarge = 128 * 1024;
  std::lock_guard lock(mutex_);
  const bool large = event_template->bytes() > kLarge;
  for (Known& known : known_) {
    if (known.shape == shape) {
      known.event_template = std::move(event_template);
    } else if (large) {
      known.event_template = nullptr;
    }
  }
}

std::size_t FirstEventTemplates::size() const {
  std::lock_guard lock(mutex_);
  return std::size_t(std::count_if(known_.begin(), known_.end(), [](const Known& one) { return one.event_template != nullptr; }));
}

Result<InstantiatedEvent> FirstEventTemplates::Make(const SubjectKind& kind, const WorkflowDefinition& definition,
                                                    const CreateRequest& request, Json inputs) {
  const auto shape = TemplateShape::Of(request, inputs);
  bool due = false;
  if (shape) {
    if (auto event_template = Find(*shape, due)) return event_template->Instantiate(request, inputs);
  }
  std::optional<InstantiatedEvent> instantiated;  // to be compared
  std::shared_ptr<const FirstEventTemplate> event_template;
  if (due) {
    if (auto cast = FirstEventTemplate::Compile(kind, definition, *shape)) {
      event_template = std::move(*cast);
      instantiated = event_template->Instantiate(request, inputs);
    }
  }
  auto worded = WordFirstEvent(kind, definition, request, std::move(inputs), Json::object());
  if (!worded) return worded.error();
  InstantiatedEvent made{std::move(worded->event), worded->state.Root()};
  if (instantiated && instantiated->event == made.event && instantiated->state_root == made.state_root)
    Keep(*shape, std::move(event_template));
  return made;
}

}  // namespace acl::workflow
