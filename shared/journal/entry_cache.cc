#include "shared/journal/entry_cache.h"

#include <algorithm>
#include <cstring>

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "shared/journal/trie.h"

namespace acl {

namespace {

constexpr std::size_t kSeenPlaces = 256;
// Stands in the place of a known value while the rest is read.
constexpr std::string_view kMark = "known entry", kQuotedMark = "\"known entry\"";

// How a payload puts an entry of that key whole. Empty if the key is written in another way than it is.
std::string Before(const std::string& key) {
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c != '"' && c != '\\' && c != '~' && c != '/'; });
  return plain ? R"("op":"add","path":"/)" + key + R"(","value":)" : std::string();
}

// Text with parts of it replaced, from its beginning to its end.
class Replaced {
 public:
  explicit Replaced(std::string_view text) : text_(text) { out_.reserve(text.size()); }
  // False if the part begins before the last one ended.
  bool Part(std::size_t at, std::size_t bytes, std::string_view with) {
    if (at < from_) return false;
    out_.append(text_.substr(from_, at - from_)).append(with);
    from_ = at + bytes;
    return true;
  }
  std::string Take() && { return std::move(out_.append(text_.substr(from_))); }

 private:
  const std::string_view text_;
  std::size_t from_ = 0;
  std::string out_;
};

// The only operation that touches the entry puts the mark.
bool PutsTheMark(const Delta& delta, const std::string& entry) {
  const auto touches = [&](const DeltaOp& op) { return op.entry == entry || op.from_entry == entry; };
  const auto op = std::find_if(delta.ops.begin(), delta.ops.end(), touches);
  return op != delta.ops.end() && std::none_of(std::next(op), delta.ops.end(), touches) && op->kind == DeltaOp::Kind::kAdd &&
         op->below.empty() && op->entry == entry && op->value.is_string() && op->value.get_ref<const std::string&>() == kMark;
}

}  // namespace

std::vector<EntryCache::Found> EntryCache::Find(std::string_view payload) {
  std::vector<Found> found;
  std::lock_guard lock(mutex_);
  for (auto& [before, entries] : known_) {
    const std::size_t put = payload.find(before);
    if (put == std::string_view::npos) continue;
    // An object or array ends where its text ends: whatever follows, this is the value that stands here.
    const std::size_t at = put + before.size();
    const std::string_view text = payload.substr(at);
    const auto here = std::find_if(entries.begin(), entries.end(), [&](const EntryPtr& entry) { return text.starts_with(entry->text); });
    if (here == entries.end()) continue;
    found.push_back({at, *here});
    entries.splice(entries.begin(), entries, here);
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.at < b.at; });
  return found;
}

std::optional<Document> EntryCache::Replay(const Event& event, const Document& state) {
  if (!event.payload) return std::nullopt;
  const std::vector<Found> found = Find(*event.payload);
  if (found.empty()) return std::nullopt;
  Replaced rest(*event.payload);
  for (const Found& one : found) {
    if (!rest.Part(one.at, one.entry->text.size(), kQuotedMark)) return std::nullopt;  // one inside another
  }
  auto payload = ParseJson(std::move(rest).Take(), kStoredJson);
  if (!payload || !payload->is_object()) return std::nullopt;

  const std::string canonical_rest = CanonicalJson(*payload);
  Replaced canonical(canonical_rest);
  for (const Found& one : found) {  // operations keep their order
    const Entry& entry = *one.entry;
    const std::size_t put = canonical_rest.find(entry.before + std::string(kQuotedMark));
    if (put == std::string::npos || !canonical.Part(put + entry.before.size(), kQuotedMark.size(), entry.canonical)) return std::nullopt;
  }
  if (Sha256(std::move(canonical).Take()) != event.checksum) return std::nullopt;

  const auto patch = payload->find(kDeltaKey), root = payload->find(kRootKey);
  if (patch == payload->end() || root == payload->end() || !root->is_string()) return std::nullopt;
  const std::string named_root = root->get<std::string>();
  auto delta = Delta::Parse(std::move(*patch));
  if (!delta) return std::nullopt;
  for (const Found& one : found) {
    if (!PutsTheMark(*delta, one.entry->leaf->key)) return std::nullopt;
  }
  Document after = state;
  if (!after.Apply(*delta)) return std::nullopt;
  for (const Found& one : found) after.Share(one.entry->leaf);
  if (named_root != ToHex(after.Root())) return std::nullopt;
  return after;
}

// Asked under the lock.
bool EntryCache::SeenBefore(const LeafPtr& leaf) {
  std::uint64_t beginning = 0;
  const Hash256 hash = leaf->Measured().hash;
  std::memcpy(&beginning, hash.data(), sizeof beginning);
  seen_.resize(kSeenPlaces);
  return std::exchange(seen_[beginning % kSeenPlaces], beginning) == beginning;
}

void EntryCache::Learn(const Event& event, const Document& state) {
  if (!event.payload) return;
  std::vector<LeafPtr> large;
  state.ForEach([&](const std::string& key, const Json& value) {
    if (!value.is_object() && !value.is_array()) return true;
    LeafPtr leaf = state.LeafOf(key);
    const std::size_t bytes = leaf->Measured().bytes;
    if (bytes >= kLeastBytes && bytes <= kMostBytes) large.push_back(std::move(leaf));
    return true;
  });
  for (const LeafPtr& leaf : large) {
    const std::string before = Before(leaf->key);
    {
      std::lock_guard lock(mutex_);
      if (before.empty() || !SeenBefore(leaf)) continue;
    }
    auto entry = std::make_shared<const Entry>(Entry{before, DumpJson(leaf->value()), CanonicalJson(leaf->value()), leaf});
    const std::size_t put = event.payload->find(before);
    if (put != std::string::npos && std::string_view(*event.payload).substr(put + before.size()).starts_with(entry->text)) {
      Keep(std::move(entry));
    }
  }
}

void EntryCache::Keep(EntryPtr entry) {
  std::lock_guard lock(mutex_);
  std::list<EntryPtr>& entries = known_[entry->before];
  if (std::any_of(entries.begin(), entries.end(), [&](const EntryPtr& one) { return one->text == entry->text; })) return;
  entries.push_front(std::move(entry));
  if (++count_ <= max_) return;
  // From the longest list: where most come, the most are not asked for again.
  const auto longest =
      std::max_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  longest->second.pop_back();
  if (longest->second.empty()) known_.erase(longest);  // each key is looked for in every payload
  --count_;
}

std::size_t EntryCache::names() const {
  std::lock_guard lock(mutex_);
  return known_.size();
}

std::size_t EntryCache::size() const {
  std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace acl
