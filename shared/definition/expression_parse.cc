// From text to nodes.

#include <algorithm>

#include "shared/base/utf8.h"
#include "shared/definition/expression.h"
#include "shared/definition/expression_node.h"
#include "shared/definition/suggest.h"

namespace acl {

using expression::Node;
using expression::Op;
using NodePtr = std::shared_ptr<const Node>;

namespace {

bool BeginsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsInName(char c) { return BeginsName(c) || IsDigit(c) || c == '-' || c == '.'; }

struct Mistaken {
  ExpressionMistake mistake;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  NodePtr Parse() {
    if (StorableText(text_) != text_) Fail(0, "an expression must be valid UTF-8 without NUL");
    if (text_.size() > kMostExpressionBytes) Fail(0, "an expression has at most " + std::to_string(kMostExpressionBytes) + " bytes");
    NodePtr root = Or();
    Space();
    if (at_ < text_.size()) Unexpected();
    return root;
  }

 private:
  [[noreturn]] static void Fail(std::size_t offset, std::string what) { throw Mistaken{{offset, std::move(what)}}; }

  [[noreturn]] void Unexpected() {
    if (at_ >= text_.size()) Fail(at_, "something is missing at the end: a value must follow");
    const char c = text_[at_];
    if (c == '=') Fail(at_, "a single '=' says nothing here; did you mean '=='?");
    if (c == '&') Fail(at_, "a single '&' says nothing here; did you mean 'and'?");
    if (c == '[') Fail(at_, "an item of a list cannot be named by its number; use the filters first and last, or 'in'");
    if (c == '(') Fail(at_, "a '(' cannot stand here; only exists and length are functions");
    if (BeginsName(c)) Fail(at_, "'" + std::string(Word()) + "' cannot stand here; an operator is missing before it (and, or, ==, in ...)");
    std::size_t end = at_ + 1;  // the whole character
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    Fail(at_, "'" + StorableText(text_.substr(at_, end - at_)) + "' cannot stand here");
  }

  void Space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool Looks(std::string_view what) {
    Space();
    return text_.substr(at_, what.size()) == what;
  }
  bool Eat(std::string_view what) {
    if (!Looks(what)) return false;
    at_ += what.size();
    return true;
  }
  // A name or keyword that begins here.
  std::string_view Word() const {
    std::size_t end = at_;
    while (end < text_.size() && IsInName(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool EatWord(std::string_view word) {
    Space();
    if (at_ >= text_.size() || !BeginsName(text_[at_]) || Word() != word) return false;
    at_ += word.size();
    return true;
  }

  NodePtr Make(Node node) {
    if (++nodes_ > kMostExpressionNodes) Fail(node.offset, "an expression has at most " + std::to_string(kMostExpressionNodes) + " parts");
    return std::make_shared<const Node>(std::move(node));
  }
  NodePtr Binary(Op op, std::size_t offset, NodePtr left, NodePtr right) {
    if (left->op == Op::kLiteral && right->op == Op::kLiteral) {
      if (std::string wrong = expression::WrongTypes(op, left->literal, right->literal); !wrong.empty()) Fail(offset, wrong);
    }
    return Make({op, offset, {}, "", {}, {std::move(left), std::move(right)}});
  }

  // Operators of one rank, from the left.
  struct Choice {
    std::string_view text;
    Op op;
    bool word = false;
  };

  NodePtr Or() {
    const Deeper deeper(*this);
    NodePtr left = And();
    for (;;) {
      Space();
      const std::size_t offset = at_;
      if (!EatWord("or") && !Eat("||")) return left;
      left = Binary(Op::kOr, offset, std::move(left), And());
    }
  }

  NodePtr And() {
    NodePtr left = Not();
    for (;;) {
      Space();
      const std::size_t offset = at_;
      if (!EatWord("and") && !Eat("&&")) return left;
      left = Binary(Op::kAnd, offset, std::move(left), Not());
    }
  }

  NodePtr Not() {
    Space();
    const std::size_t offset = at_;
    const bool sign = Looks("!") && !Looks("!=");
    if (!sign && !EatWord("not")) return Comparison();
    if (sign) ++at_;
    const Deeper deeper(*this);
    NodePtr of = Not();
    if (of->op == Op::kLiteral && !of->literal.is_boolean())
      Fail(offset, "'not' needs true or false, and this is " + std::string(expression::TypeName(of->literal)));
    return Make({Op::kNot, offset, {}, "", {}, {std::move(of)}});
  }

  std::optional<Op> ComparisonOp() {
    static constexpr std::pair<std::string_view, Op> kOps[] = {{"==", Op::kEqual},   {"!=", Op::kUnequal}, {"<=", Op::kAtMost},
                                                               {">=", Op::kAtLeast}, {"<", Op::kLess},     {">", Op::kGreater}};
    for (const auto& [text, op] : kOps)
      if (Eat(text)) return op;
    if (EatWord("in")) return Op::kIn;
    const std::size_t before = at_;
    if (EatWord("not")) {
      if (EatWord("in")) return Op::kNotIn;
      at_ = before;
    }
    return std::nullopt;
  }

  NodePtr Comparison() {
    NodePtr left = Sum();
    Space();
    std::size_t offset = at_;
    auto op = ComparisonOp();
    if (!op) return left;
    left = Binary(*op, offset, std::move(left), Sum());
    Space();
    offset = at_;
    if (ComparisonOp()) Fail(offset, "comparisons do not go in a chain; join two with 'and', or use brackets");
    return left;
  }

  NodePtr Sum() {
    NodePtr left = Product();
    for (;;) {
      Space();
      const std::size_t offset = at_;
      if (Eat("+"))
        left = Binary(Op::kAdd, offset, std::move(left), Product());
      else if (Eat("-"))
        left = Binary(Op::kSubtract, offset, std::move(left), Product());
      else
        return left;
    }
  }

  NodePtr Product() {
    NodePtr left = Signed();
    for (;;) {
      Space();
      const std::size_t offset = at_;
      if (Eat("*"))
        left = Binary(Op::kMultiply, offset, std::move(left), Signed());
      else if (Eat("/"))
        left = Binary(Op::kDivide, offset, std::move(left), Signed());
      else if (Eat("%"))
        left = Binary(Op::kRemainder, offset, std::move(left), Signed());
      else
        return left;
    }
  }

  NodePtr Signed() {
    Space();
    const std::size_t offset = at_;
    if (!Looks("-")) return Filtered();
    if (at_ + 1 < text_.size() && IsDigit(text_[at_ + 1])) return Filtered();  // a negative number
    ++at_;
    const Deeper deeper(*this);
    NodePtr of = Signed();
    if (of->op == Op::kLiteral && !of->literal.is_number())
      Fail(offset, "'-' needs a number, and this is " + std::string(expression::TypeName(of->literal)));
    return Make({Op::kNegate, offset, {}, "", {}, {std::move(of)}});
  }

  NodePtr Filtered() {
    NodePtr value = Primary();
    Space();
    if (!Looks("|") || Looks("||")) return value;
    Node node{Op::kFilters, at_, {}, "", {}, {std::move(value)}};
    ReferenceParser parser = ReferenceParser::AtFilters(text_, at_);
    if (!parser.Filters(&node.filters)) {
      std::string_view rest = text_.substr(parser.end());
      std::size_t length = 0;
      while (length < rest.size() && (BeginsName(rest[length]) || IsDigit(rest[length]))) ++length;
      const std::string name(rest.substr(0, length));
      const std::string near = name.size() < 3 ? "" : NearestSpelling(name, FilterNames());
      Fail(parser.end(), name.empty() ? "a filter is missing or its arguments do not fit"
                                      : "no filter is named '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    for (const TemplateFilter& filter : node.filters)
      if (std::string wrong = WrongArguments(filter); !wrong.empty()) Fail(node.offset, wrong);
    at_ = parser.end();
    return Make(std::move(node));
  }

  NodePtr Primary() {
    Space();
    const std::size_t offset = at_;
    if (at_ >= text_.size()) Unexpected();
    const char c = text_[at_];
    if (Eat("{{")) return Bracketed("}}", offset, "the braces that begin here are not closed");
    if (Eat("(")) return Bracketed(")", offset, "the bracket that begins here is not closed");
    if (c == '[') return List();
    if (c == '\'' || c == '"') return Text(c);
    if (IsDigit(c) || c == '-') return Number();
    if (BeginsName(c)) return Named();
    Unexpected();
  }

  NodePtr Bracketed(std::string_view close, std::size_t offset, const char* open) {
    NodePtr inner = Or();
    if (!Eat(close)) {
      if (at_ < text_.size()) Unexpected();
      Fail(offset, open);
    }
    return inner;
  }

  NodePtr List() {
    Node node{Op::kList, at_++, {}, "", {}, {}};
    const Deeper deeper(*this);
    if (Eat("]")) return Make({Op::kLiteral, node.offset, Json::array(), "", {}, {}});
    bool literal = true;
    do {
      node.of.push_back(Or());
      literal &= node.of.back()->op == Op::kLiteral;
    } while (Eat(","));
    if (!Eat("]")) Fail(node.offset, "the list that begins here is not closed by ']'");
    if (!literal) return Make(std::move(node));
    Json list = Json::array();
    for (const NodePtr& item : node.of) list.push_back(item->literal);
    return Make({Op::kLiteral, node.offset, std::move(list), "", {}, {}});
  }

  NodePtr Text(char quote) {
    const std::size_t offset = at_;
    std::string value;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        c = text_[++at_];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      value += c;
    }
    if (at_ >= text_.size()) Fail(offset, "the text that begins here is not closed");
    ++at_;
    return Make({Op::kLiteral, offset, Json(std::move(value)), "", {}, {}});
  }

  NodePtr Number() {
    const std::size_t offset = at_;
    std::size_t end = at_ + 1;
    while (end < text_.size() && (IsInName(text_[end]) || (text_[end] == '+' && (text_[end - 1] == 'e' || text_[end - 1] == 'E')))) {
      if (text_[end] == '-' && text_[end - 1] != 'e' && text_[end - 1] != 'E') break;
      ++end;
    }
    auto number = ParseJson(text_.substr(at_, end - at_));
    if (!number || !number->is_number()) Fail(offset, "'" + std::string(text_.substr(at_, end - at_)) + "' is no number");
    at_ = end;
    return Make({Op::kLiteral, offset, std::move(*number), "", {}, {}});
  }

  NodePtr Named() {
    const std::size_t offset = at_;
    const std::string word(Word());
    for (std::string_view keyword : {"and", "or", "in"})
      if (word == keyword) Fail(offset, "'" + word + "' stands between two values");
    if (word == "not") Fail(offset, "'not' cannot stand here; put brackets around it and what it denies");
    at_ += word.size();
    if (word == "true" || word == "false") return Make({Op::kLiteral, offset, Json(word == "true"), "", {}, {}});
    if (word == "null") return Make({Op::kLiteral, offset, Json(), "", {}, {}});
    if (at_ < text_.size() && text_[at_] == '(') return Function(word, offset);
    if (word.find("..") != word.npos || word.back() == '.') Fail(offset, "'" + word + "' is no reference: a name is missing at a dot");
    return Make({Op::kReference, offset, {}, word, {}, {}});
  }

  NodePtr Function(const std::string& name, std::size_t offset) {
    static const std::vector<std::string_view> kFunctions = {"exists", "length"};
    if (std::find(kFunctions.begin(), kFunctions.end(), name) == kFunctions.end()) {
      const std::string near = name.size() < 3 ? "" : NearestSpelling(name, kFunctions);
      const bool filter = IsFilter(name);
      Fail(offset, "no function is named '" + name + "' (there are exists and length)" +
                       (filter         ? "; it is a filter: x | " + name
                        : near.empty() ? ""
                                       : "; did you mean '" + near + "'?"));
    }
    ++at_;
    const Deeper deeper(*this);
    NodePtr of = Or();
    if (!Eat(")")) Fail(offset, "'" + name + "(' is not closed: it takes one value");
    if (name == "length" && of->op == Op::kLiteral)
      if (std::string wrong = expression::WrongLength(of->literal); !wrong.empty()) Fail(offset, wrong);
    if (name == "length") return Make({Op::kLength, offset, {}, "", {}, {std::move(of)}});
    if (of->op != Op::kReference) Fail(of->offset, "exists() takes one reference, like exists(step.output)");
    return Make({Op::kExists, of->offset, {}, of->path, {}, {}});
  }

  struct Deeper {
    explicit Deeper(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepestExpression)
        Fail(parser_.at_, "it is nested more than " + std::to_string(kDeepestExpression) + " deep");
    }
    ~Deeper() { --parser_.depth_; }
    ExpressionParser& parser_;
  };

  const std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0, nodes_ = 0;
};

}  // namespace

std::optional<Expression> ParseExpression(std::string_view text, ExpressionMistake* mistake) {
  try {
    return Expression(ExpressionParser(text).Parse());
  } catch (const Mistaken& mistaken) {
    *mistake = mistaken.mistake;
    return std::nullopt;
  }
}

Result<Expression> ParseExpression(std::string_view text) {
  ExpressionMistake mistake;
  if (auto parsed = ParseExpression(text, &mistake)) return std::move(*parsed);
  return Error{Code::kInvalid, "at character " + std::to_string(mistake.offset + 1) + ": " + mistake.what};
}

}  // namespace acl
