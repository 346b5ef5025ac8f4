#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "shared/definition/source_tree.h"

namespace acl {

namespace {

// Thrown by the handler to stop yaml-cpp, caught in ReadYaml: going on would cost time or memory without end.
struct Stop {};

SourceMark MarkOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Builds the tree from yaml-cpp's events (its Node graph would share aliases and keep duplicate keys).
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const LoadOptions& options, std::vector<Finding>* findings) : options_(options), findings_(findings) {}

  std::optional<SourceNode> root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Complete(Scalar(mark, {SourceNode::Kind::kNull, nullptr, {}}), anchor, {});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto it = anchors_.find(anchor);
    if (it == anchors_.end()) Fatal(MarkOf(mark), "cyclic-alias", "this alias names a value that contains it; write the value out");
    const Extent& extent = it->second.extent;
    if (depth() + extent.height > options_.max_depth) Fatal(MarkOf(mark), "too-deep", DepthMessage());
    Count(MarkOf(mark), extent);
    Complete(it->second.node, 0, extent, false);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    CheckTag(mark, tag);
    if (tag == "?") {
      PlainScalar plain = ResolvePlain(value);
      if (!plain.error.empty()) AddError(findings_, MarkOf(mark), "bad-number", plain.error);
      plain_merge_ = value == "<<";
      Complete(Scalar(mark, std::move(plain)), anchor, {.bytes = value.size()});
      return;
    }
    if (value.find('\0') != std::string::npos)
      AddError(findings_, MarkOf(mark), "nul-character", "the text holds the NUL character, which cannot be stored; remove it");
    Complete(Scalar(mark, {SourceNode::Kind::kString, value, {}}), anchor, {.bytes = value.size()});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Open(SourceNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Open(SourceNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  // What a value takes, with all that is in it.
  struct Extent {
    std::size_t nodes = 1, bytes = 0;  // of texts and keys
    int height = 1;
  };
  struct Frame {
    SourceNode node;
    YAML::anchor_t anchor = 0;
    Extent extent;
    bool has_key = false, skip_value = false;
    std::string key;
    SourceMark key_mark;
    std::map<std::string, SourceMark, std::less<>> seen;
  };
  struct Anchored {
    SourceNode node;
    Extent extent;
  };

  int depth() const { return static_cast<int>(stack_.size()); }
  std::string DepthMessage() const { return "values are nested deeper than " + std::to_string(options_.max_depth) + " levels"; }

  [[noreturn]] void Fatal(SourceMark mark, std::string code, std::string message) {
    AddError(findings_, mark, std::move(code), std::move(message));
    throw Stop{};
  }

  static SourceNode Scalar(const YAML::Mark& mark, PlainScalar scalar) {
    SourceNode node;
    node.kind = scalar.error.empty() ? scalar.kind : SourceNode::Kind::kString;
    node.mark = MarkOf(mark);
    node.scalar = std::move(scalar.value);
    return node;
  }

  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    AddError(findings_, MarkOf(mark), "explicit-tag",
             "the tag " + tag.substr(0, 80) + " is not accepted; remove it (quote a value to make it text)");
  }

  void Count(SourceMark mark, const Extent& more) {
    nodes_ += more.nodes;
    bytes_ += more.bytes;
    if (nodes_ > static_cast<std::size_t>(options_.max_nodes))
      Fatal(mark, "too-many-values",
            "the file has more than " + std::to_string(options_.max_nodes) + " values once its aliases are written out");
    if (bytes_ > options_.max_expanded_bytes)
      Fatal(mark, "too-large",
            "the file has more than " + std::to_string(options_.max_expanded_bytes) +
                " bytes once its aliases are written out; move data into files of the run");
  }

  void Open(SourceNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    CheckTag(mark, tag);
    if (depth() >= options_.max_depth) Fatal(MarkOf(mark), "too-deep", DepthMessage());
    Count(MarkOf(mark), {});
    Frame frame;
    frame.node.kind = kind;
    frame.node.mark = MarkOf(mark);
    frame.anchor = anchor;
    stack_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Complete(std::move(frame.node), frame.anchor, frame.extent, false);
  }

  void Complete(SourceNode node, YAML::anchor_t anchor, const Extent& extent, bool count = true) {
    bool merge = std::exchange(plain_merge_, false);
    if (count) Count(node.mark, extent);
    if (anchor != 0) {
      Count(node.mark, extent);  // the copy that aliases are made of
      anchors_.insert_or_assign(anchor, Anchored{node, extent});
    }
    if (stack_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    frame.extent.nodes += extent.nodes;
    frame.extent.bytes += extent.bytes;
    frame.extent.height = std::max(frame.extent.height, extent.height + 1);
    if (frame.node.is_list()) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      TakeKey(&frame, node, merge);
    } else {
      frame.has_key = false;
      if (!frame.skip_value) AddEntry(&frame.node, {std::move(frame.key), frame.key_mark, std::move(node)}, findings_);
    }
  }

  void TakeKey(Frame* frame, const SourceNode& node, bool merge) {
    frame->has_key = true;
    frame->skip_value = true;
    frame->key_mark = node.mark;
    if (merge) {
      AddError(findings_, node.mark, "merge-key", "the merge key << is not part of YAML 1.2; write the keys out");
      return;
    }
    if (!node.is_string()) {
      std::string text = node.is_list() || node.is_map() ? "" : ": write \"" + DumpJson(node.scalar) + "\" with its quotes";
      AddError(findings_, node.mark, "key-not-string", "a key must be a string, this is " + std::string(KindName(node.kind)) + text);
      return;
    }
    frame->key = node.scalar.get<std::string>();
    auto [first, fresh] = frame->seen.emplace(frame->key, node.mark);
    frame->skip_value = !fresh;
    if (!fresh)
      AddError(findings_, node.mark, "duplicate-key",
               "'" + frame->key.substr(0, 80) + "' is given twice (first in line " + std::to_string(first->second.line) + "); keep one");
  }

  const LoadOptions& options_;
  std::vector<Finding>* findings_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0, bytes_ = 0;
  bool plain_merge_ = false;
};

// Only notes that there is one more document.
class Probe final : public YAML::EventHandler {
 public:
  SourceMark mark{1, 1};
  void OnDocumentStart(const YAML::Mark& at) override {
    mark = MarkOf(at);
    throw Stop{};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// yaml-cpp's words for what people do wrong most often, in plain ones.
std::string Plain(const std::string& message) {
  if (message == "illegal document indicator in scalar" || message == "illegal EOF in scalar")
    return "a quoted text that begins further up is not closed";
  if (message == "illegal map value") return "a ':' where no value may begin (check the indentation; quote a text that holds ': ')";
  if (message == "unknown token") return "a text may not begin with this character; quote it";
  if (message == "illegal block entry") return "a list item where none may begin (check the indentation; tabs do not indent)";
  if (message.starts_with("invalid unicode")) return "half of a surrogate pair or a number beyond Unicode; write the character itself";
  return message;
}

std::string SyntaxCode(const std::string& message) { return message.starts_with("invalid unicode") ? "lone-surrogate" : "syntax"; }

}  // namespace

std::optional<SourceNode> ReadYaml(const std::string& text, const LoadOptions& options, std::vector<Finding>* findings) {
  TreeBuilder builder(options, findings);
  Probe probe;
  try {
    // yaml-cpp takes a quoted text that is still open at the last line break; a document end marker makes it say so.
    std::istringstream in(text.ends_with('\n') ? text + "...\n" : text);
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder) || !builder.root || builder.root->is_null()) {
      AddError(findings, {1, 1}, "empty-file", "the file holds no document; a workflow needs at least 'name' and 'steps'");
      return std::nullopt;
    }
    try {
      if (parser) parser.HandleNextDocument(probe);
    } catch (const Stop&) {
      AddError(findings, probe.mark, "multiple-documents", "the file holds more than one YAML document; one workflow a file");
    }
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    AddError(findings, error.mark.is_null() ? SourceMark{1, 1} : MarkOf(error.mark), SyntaxCode(error.msg),
             "not readable as YAML: " + Plain(error.msg));
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    throw;  // nothing is wrong with the file
  } catch (const std::exception& error) {
    AddError(findings, {1, 1}, "syntax", std::string("not readable as YAML: ") + error.what());
    return std::nullopt;
  }
  return std::move(builder.root);
}

}  // namespace acl
