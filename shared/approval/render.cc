#include "shared/approval/render.h"

#include <fmt/format.h>

#include "shared/base/sha256.h"
#include "shared/base/utf8.h"

namespace acl::approval {

namespace {

struct CodePointRange {
  char32_t first, last;
};
// What is not seen, or changes how its neighbours are.
constexpr CodePointRange kInvisible[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x34f, 0x34f},   {0x61c, 0x61c},
                                         {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},  {0x200b, 0x200f}, {0x2028, 0x202e},
                                         {0x2060, 0x206f}, {0x2800, 0x2800}, {0x3164, 0x3164},  {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
                                         {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};

bool IsInvisible(char32_t point) {
  for (const auto& range : kInvisible)
    if (point >= range.first && point <= range.last) return true;
  return false;
}

// The code point at `at`, and how many bytes it takes. Stored text is UTF-8; anything else is one byte.
std::pair<char32_t, std::size_t> PointAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const unsigned first = byte(0);
  const auto next = [&](std::size_t i) { return char32_t(byte(i) & 0x3f); };
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(char32_t(first & 0x1f) << 6) | next(1), 2};
  if (first < 0xf0) return {(char32_t(first & 0x0f) << 12) | (next(1) << 6) | next(2), 3};
  return {(char32_t(first & 0x07) << 18) | (next(1) << 12) | (next(2) << 6) | next(3), 4};
}

class Renderer {
 public:
  explicit Renderer(const ShowLimits& limits) : limits_(limits) {}

  void Text(std::string name, std::string_view text) {
    if (shown_.lines.size() >= limits_.lines) {
      ++left_out_;
      return;
    }
    std::string cut(text.substr(0, limits_.value));
    if (cut.size() < text.size()) {
      cut = StorableText(cut);
      shown_.truncated = true;
    }
    std::string line = EscapeInvisible(cut);
    if (cut.size() < text.size()) line += fmt::format(" ... (cut: the whole has {} bytes)", text.size());
    shown_.lines.push_back({EscapeInvisible(name), std::move(line)});
  }

  void Value(const std::string& name, const Json& value) {
    if (value.is_object() && !value.empty()) {
      for (auto it = value.begin(); it != value.end(); ++it) Value(name + "." + it.key(), it.value());
    } else if (value.is_array() && !value.empty()) {
      for (std::size_t i = 0; i < value.size(); ++i) Value(fmt::format("{}[{}]", name, i), value[i]);
    } else {
      Text(name, value.is_string() ? value.get_ref<const std::string&>() : DumpJson(value));
    }
  }

  Shown Take() && {
    if (left_out_ > 0) {
      shown_.truncated = true;
      shown_.lines.push_back({"...", fmt::format("{} more values are not shown", left_out_)});
    }
    shown_.digest = ToHex(Sha256(ToText(shown_)));
    return std::move(shown_);
  }

 private:
  const ShowLimits limits_;
  std::size_t left_out_ = 0;
  Shown shown_;
};

}  // namespace

std::string EscapeInvisible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = PointAt(text, at);
    if (point == '\\') {
      out += "\\\\";
    } else if (point == '\n') {
      out += "\\n";
    } else if (point == '\t') {
      out += "\\t";
    } else if (IsInvisible(point)) {
      out += fmt::format("\\u{{{:04X}}}", static_cast<unsigned>(point));
    } else {
      out += text.substr(at, bytes);
    }
    at += bytes;
  }
  return out;
}

Shown Render(const Request& request, const ShowLimits& limits) {
  Renderer renderer(limits);
  renderer.Text("workflow", request.workflow);
  renderer.Text("run", request.run_id);
  renderer.Text("step", request.step_id);
  renderer.Text("risk", request.risk);
  if (!request.requesters.empty()) renderer.Text("asked by", fmt::format("{}", fmt::join(request.requesters, ", ")));
  if (!request.workspace_root.empty()) renderer.Text("files of the run", request.workspace_root);
  for (auto it = request.arguments.begin(); it != request.arguments.end(); ++it)
    if (it.key() != "message" && it.key() != "approval_message") renderer.Value("inputs." + it.key(), it.value());
  renderer.Text("digest", request.digest);
  if (!request.description.empty()) renderer.Text("the file's description", request.description);
  renderer.Text("the file's message", request.message);
  return std::move(renderer).Take();
}

std::string ToText(const Shown& shown) {
  std::string text;
  for (const ShownLine& line : shown.lines) text += line.name + ": " + line.text + "\n";
  return text;
}

}  // namespace acl::approval
