// Runs of lines of one kind: a log, an .env file, lines of base64, a hex dump.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "shared/aegis/sanitize/blocks.h"
#include "shared/aegis/sanitize/value_checks.h"
#include "shared/base/redact.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kShortestBase64Line = 60;

struct LineOfText {
  std::size_t begin = 0, end = 0;  // without its newline
  std::string_view text;
  bool blank = false;
};

// A run of lines that is being read. What it cuts is known when it ends.
class LineRun {
 public:
  virtual ~LineRun() = default;
  // False: the line ends the run, if one is open, and begins none.
  virtual bool Take(const LineOfText& line) = 0;
  virtual void End(Blocks& blocks) = 0;
  virtual std::size_t open() const = 0;  // nothing behind this may be shown while the run goes on; npos: no run
  std::size_t begin() const { return begin_; }

 protected:
  std::size_t begin_ = std::string_view::npos;
};

re2::StringPiece AsPiece(std::string_view text) { return {text.data(), text.size()}; }

class LogRun : public LineRun {
 public:
  bool Take(const LineOfText& line) override {
    static const RE2 log(
        R"re(^(?:[\w./-]{1,40}(?:\[\d{1,7}\])?[: |]{1,3})?[\[(]?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{4}/\d\d/\d\d \d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:\d\d)|^\{"(?:seq|ts|time|timestamp|event_seq|__REALTIME_TIMESTAMP)": ?["\d]|^\d{1,3}(?:\.\d{1,3}){3} \S{1,40} \S{1,40} \[\d\d/[A-Z][a-z]{2}/)re",
        RE2::Quiet);
    const bool is_log = RE2::PartialMatch(AsPiece(line.text), log);
    const bool goes_on = begin_ != std::string_view::npos && (line.blank || line.text.front() == ' ' || line.text.front() == '\t');
    if (!is_log && !goes_on) return false;
    if (begin_ == std::string_view::npos) begin_ = line.begin;
    if (++lines_ == kLogExcerptLines + 1) cut_ = line.begin;
    if (!line.blank) end_ = line.end;
    return true;
  }
  void End(Blocks& blocks) override {
    if (cut_ != std::string_view::npos && end_ > cut_) blocks.found.push_back({cut_, end_, "log"});
    *this = LogRun();
  }
  std::size_t open() const override { return cut_; }

 private:
  int lines_ = 0;
  std::size_t cut_ = std::string_view::npos, end_ = 0;
};

class EnvRun : public LineRun {
 public:
  bool Take(const LineOfText& line) override {
    static const RE2 assignment(R"(^(?:export[ \t]{1,4})?([A-Z][A-Z0-9_]{1,60})=(.*)$)", RE2::Quiet);
    re2::StringPiece name, value;
    if (!RE2::FullMatch(AsPiece(line.text), assignment, &name, &value)) {
      return begin_ != std::string_view::npos && (line.blank || line.text.front() == '#');
    }
    if (begin_ == std::string_view::npos) begin_ = line.begin;
    ++lines_;
    std::size_t begin = line.begin + std::size_t(value.data() - line.text.data()), end = begin + value.size();
    std::string_view held(value.data(), value.size());
    if (held.size() >= 2 && (held.front() == '"' || held.front() == '\'') && held.back() == held.front()) {
      held = held.substr(1, held.size() - 2);
      ++begin, --end;
    }
    if (IsStandIn(held)) return true;
    const std::string_view called(name.data(), name.size());
    secret_ |= IsSecretName(called) || called.ends_with("KEY") || called.ends_with("TOKEN") || called.ends_with("PASS");
    values_.push_back({begin, end, "env-file"});
    return true;
  }
  void End(Blocks& blocks) override {
    if (secret_ && lines_ >= kEnvLines) blocks.found.insert(blocks.found.end(), values_.begin(), values_.end());
    *this = EnvRun();
  }
  std::size_t open() const override { return begin_; }

 private:
  int lines_ = 0;
  bool secret_ = false;
  std::vector<Block> values_;
};

bool IsHexDigest(std::string_view line) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  return (line.size() == 64 || line.size() == 96 || line.size() == 128) && std::all_of(line.begin(), line.end(), hex);
}

class DumpRun : public LineRun {
 public:
  explicit DumpRun(bool hex) : hex_(hex) {}
  bool Take(const LineOfText& line) override {
    static const RE2 dump(R"(^(?:0x)?[0-9a-fA-F]{4,16}:?[ \t]{1,4}(?:[0-9a-fA-F]{2,4}[ \t]{1,2}){4})", RE2::Quiet);
    const bool is_one = hex_ ? RE2::PartialMatch(AsPiece(line.text), dump) : IsBase64Line(line.text);
    const bool is_last = !hex_ && begin_ != std::string_view::npos && !line.blank && !done_ && IsBase64(line.text);
    if (done_ || (!is_one && !is_last)) return false;
    if (begin_ == std::string_view::npos) {
      begin_ = line.begin;
      image_ = !hex_ && IsImage(line.text);
    }
    done_ = !is_one;  // the last line of base64 is a short one
    ++lines_;
    end_ = line.end;
    return true;
  }
  void End(Blocks& blocks) override {
    if (!image_ && lines_ >= (hex_ ? kHexDumpLines : kBase64Lines)) blocks.found.push_back({begin_, end_, "blob"});
    *this = DumpRun(hex_);
  }
  std::size_t open() const override { return begin_; }

 private:
  static bool IsBase64(std::string_view line) { return std::all_of(line.begin(), line.end(), IsBase64Byte); }
  static bool IsBase64Line(std::string_view line) {
    return line.size() >= kShortestBase64Line && IsBase64(line) && !IsHexDigest(line) && IsRandom(line);
  }
  bool hex_;
  bool image_ = false, done_ = false;
  int lines_ = 0;
  std::size_t end_ = 0;
};

LineOfText LineAt(std::string_view text, std::size_t begin) {
  LineOfText line{begin, std::min(text.find('\n', begin), text.size()), {}, false};
  if (line.end > line.begin && text[line.end - 1] == '\r') --line.end;
  line.text = text.substr(begin, line.end - begin);
  line.blank = line.text.find_first_not_of(" \t") == line.text.npos;
  return line;
}

}  // namespace

void FindLineRuns(std::string_view text, Blocks& blocks) {
  LogRun log;
  EnvRun env;
  DumpRun base64(false), hex(true);
  const std::array<LineRun*, 4> runs{&log, &env, &base64, &hex};
  for (std::size_t at = 0; at < text.size();) {
    const LineOfText line = LineAt(text, at);
    const auto newline = text.find('\n', at);
    const bool last = newline == text.npos;  // more text may still make it another line
    for (LineRun* run : runs) {
      if (last && run->begin() != text.npos) {
        blocks.open = std::min(blocks.open, run->open());
        blocks.keep = std::min(blocks.keep, run->begin());
      }
      if (run->Take(line)) continue;
      run->End(blocks);
      if (!run->Take(line)) run->End(blocks);
    }
    at = last ? text.size() : newline + 1;
  }
  for (LineRun* run : runs) {
    if (run->begin() == text.npos) continue;
    blocks.open = std::min(blocks.open, run->open());
    blocks.keep = std::min(blocks.keep, run->begin());
    run->End(blocks);
  }
}

Blocks FindBlocks(std::string_view text) {
  const auto last_line = text.rfind('\n');
  Blocks blocks{{}, text.size(), last_line == text.npos ? 0 : last_line + 1};
  FindArmor(text, blocks);
  FindLineRuns(text, blocks);
  FindLongPieces(text, blocks);
  FindBinary(text, blocks);
  return blocks;
}

}  // namespace acl::aegis
