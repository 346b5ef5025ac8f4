#include "shared/aegis/sanitize/sanitizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "shared/aegis/sanitize/blocks.h"

namespace acl::aegis {
namespace {

constexpr const char* kLiveKind = "live";

// From left to right; of those that begin at one place the longest, then the first by rank. What reaches into a span that was taken is cut
// behind it.
std::vector<Sanitizer::Span> WithoutOverlaps(std::vector<Sanitizer::Span> all) {
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return std::tuple(a.begin, b.end, a.rank) < std::tuple(b.begin, a.end, b.rank); });
  std::vector<Sanitizer::Span> kept;
  for (auto& span : all) {
    if (!kept.empty()) {
      if (span.end <= kept.back().end) continue;
      if (span.begin < kept.back().end) {
        span.begin = kept.back().end;
        span.secret = Sanitizer::Span::kNoSecret;
      }
    }
    if (span.begin < span.end) kept.push_back(span);
  }
  return kept;
}

std::size_t SafeOf(std::string_view text, const std::vector<Sanitizer::Span>& spans, std::size_t open) {
  const std::size_t window = kLongestHead + 1;
  std::size_t safe = std::min(open, text.size() > window ? text.size() - window : 0);
  while (safe > 0 && safe < text.size() && (static_cast<unsigned char>(text[safe]) & 0xc0) == 0x80) --safe;
  for (const auto& span : spans) {
    if (span.begin < safe && span.end > safe) safe = span.begin;
  }
  return safe;
}

}  // namespace

void AddCut(std::vector<Cut>& cut, std::string_view kind, std::int64_t count) {
  const auto at = std::lower_bound(cut.begin(), cut.end(), kind, [](const Cut& a, std::string_view b) { return a.kind < b; });
  if (at != cut.end() && at->kind == kind) {
    at->count += count;
  } else {
    cut.insert(at, {std::string(kind), count});
  }
}

Result<Sanitizer> Sanitizer::Make(const RuleSet& rules, const std::vector<LiveSecret>& secrets, std::string key) {
  auto placeholders = PlaceholderKey::Make(std::move(key));
  if (!placeholders) return placeholders.error();
  auto exact = ExactMatcher::Make(secrets);
  if (!exact) return exact.error();
  return Sanitizer(rules, std::move(*exact), secrets, std::move(*placeholders));
}

Sanitizer::Scan Sanitizer::ScanText(std::string_view text) const {
  std::vector<Span> spans;
  Blocks blocks = FindBlocks(text);
  for (const auto& found : exact_.FindAll(text)) spans.push_back({found.begin, found.end, kLiveKind, found.secret, 0});
  std::size_t open = std::min(blocks.open, exact_.OpenFrom(text));
  const RuleSet::Text looked_at(text);
  for (std::size_t i = 0; i < rules_->size(); ++i) {
    if (rules_->rule(i).use != Use::kCut || !rules_->MayMatch(i, looked_at)) continue;
    std::size_t from = 0;
    while (const auto hit = rules_->Next(i, looked_at, from, &open)) {
      spans.push_back({hit->begin, hit->end, rules_->rule(i).kind, Span::kNoSecret, 1 + int(i)});
      from = std::max(hit->end, from + 1);
    }
  }
  for (const auto& block : blocks.found) spans.push_back({block.begin, block.end, block.kind, Span::kNoSecret, 1 + int(rules_->size())});
  Scan scan;
  scan.spans = WithoutOverlaps(std::move(spans));
  scan.safe = SafeOf(text, scan.spans, open);
  scan.keep = std::min(scan.safe, blocks.keep);
  scan.keep = scan.keep == 0 ? 0 : text.rfind('\n', scan.keep - 1) + 1;  // npos + 1 is the text's begin
  for (const auto& span : scan.spans) {
    if (span.begin < scan.keep && span.end > scan.keep) scan.keep = text.rfind('\n', span.begin) + 1;
  }
  return scan;
}

std::string Sanitizer::PlaceholderOf(const Span& span, std::string_view text) const {
  return key_.Placeholder(span.kind, span.secret == Span::kNoSecret ? text.substr(span.begin, span.end - span.begin)
                                                                    : std::string_view(secrets_[span.secret].value));
}

std::string Sanitizer::Render(std::string_view text, const Scan& scan, std::size_t begin, std::size_t end, std::vector<Cut>& cut) const {
  std::string out;
  std::size_t at = begin;
  for (const auto& span : scan.spans) {
    if (span.end <= begin) continue;
    if (span.begin >= end) break;
    out += text.substr(at, span.begin - at);
    out += PlaceholderOf(span, text);
    AddCut(cut, span.kind);
    at = span.end;
  }
  out += text.substr(at, end - at);
  return out;
}

Result<Sanitized> Sanitizer::Sanitize(std::string_view text) const {
  if (text.size() > kLongestText) {
    return Error{Code::kInvalid,
                 fmt::format("a text of {} bytes is longer than the {} that are sanitised at once; give a part of it, or its "
                             "digest",
                             text.size(), kLongestText)};
  }
  Sanitized done;
  const Scan scan = ScanText(text);
  done.text = Render(text, scan, 0, text.size(), done.cut);
  return done;
}

}  // namespace acl::aegis
