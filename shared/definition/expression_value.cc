// What an expression comes to.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "shared/base/utf8.h"
#include "shared/definition/expression.h"
#include "shared/definition/expression_node.h"

namespace acl {

namespace expression {

std::string_view TypeName(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::boolean: return "true or false";
    case Json::value_t::string: return "a text";
    case Json::value_t::array: return "a list";
    case Json::value_t::object: return "a map";
    default: return "a number";
  }
}

std::string WrongTypes(Op op, const Json& left, const Json& right) {
  const auto both = [&](const std::string& needs) {
    return "'" + std::string(TextOf(op)) + "' needs " + needs + "; these are " + std::string(TypeName(left)) + " and " +
           std::string(TypeName(right));
  };
  if (op == Op::kAnd || op == Op::kOr) return left.is_boolean() && right.is_boolean() ? "" : both("true or false on both sides");
  if (IsOrder(op)) {
    const bool fits = (left.is_number() && right.is_number()) || (left.is_string() && right.is_string());
    return fits ? "" : both("two numbers or two texts");
  }
  if (op == Op::kIn || op == Op::kNotIn) {
    if (right.is_array()) return "";
    if ((right.is_object() || right.is_string()) && left.is_string()) return "";
    return both("a list on the right, or a map or text with a text on the left");
  }
  if (IsArithmetic(op)) return left.is_number() && right.is_number() ? "" : both("two numbers");
  return "";
}

std::string WrongLength(const Json& of) {
  if (of.is_string() || of.is_structured()) return "";
  return "length() needs a text, a list or a map, and this is " + std::string(TypeName(of));
}

}  // namespace expression

using expression::Node;
using expression::Op;

namespace {

// Whole numbers of JSON are exact, from -2^63 to 2^64 - 1; others are doubles.
__extension__ using Whole = __int128;

bool IsWhole(const Json& number) { return number.is_number_integer(); }
Whole WholeOf(const Json& number) {
  return number.is_number_unsigned() ? Whole(number.get<std::uint64_t>()) : Whole(number.get<std::int64_t>());
}

// -1, 0, 1; 2 if one is not a number (NaN cannot stand in JSON, but a sum may overflow).
int OrderOf(double a, double b) { return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2; }

int OrderOf(Whole whole, double other) {
  constexpr double kTop = 36893488147419103232.0;  // 2^65: beyond all whole numbers of JSON
  if (other >= kTop) return -1;
  if (other < -kTop) return 1;
  const double down = std::floor(other);
  const auto floor = Whole(down);
  if (whole != floor) return whole < floor ? -1 : 1;
  return other > down ? -1 : 0;
}

int NumberOrder(const Json& a, const Json& b) {
  const bool wa = IsWhole(a), wb = IsWhole(b);
  if (wa && wb) {
    const Whole x = WholeOf(a), y = WholeOf(b);
    return x < y ? -1 : x > y;
  }
  if (wa) return OrderOf(WholeOf(a), b.get<double>());
  if (wb) return -OrderOf(WholeOf(b), a.get<double>());
  return OrderOf(a.get<double>(), b.get<double>());
}

// What a part comes to: a value that stands elsewhere (the state, the expression), or one that was made. So nothing of the state is
// copied to be looked at, however large it is.
class Come {
 public:
  Come(Json made) : made_(std::move(made)) {}  // NOLINT(google-explicit-constructor)
  static Come At(const Json& value) {
    Come come{Json()};
    come.at_ = &value;
    return come;
  }

  const Json& operator*() const { return at_ ? *at_ : made_; }
  const Json* operator->() const { return &**this; }
  bool is_made() const { return !at_; }
  Json Take() && {
    if (at_) return *at_;
    return std::move(made_);
  }

 private:
  const Json* at_ = nullptr;
  Json made_;
};

// Whether one text holds another, in one way through both. std::string::find takes the product of their lengths.
bool Holds(const std::string& text, const std::string& part) {
  return part.size() <= text.size() && memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

class Evaluator {
 public:
  Evaluator(const TemplateScope& scope, const TemplateLimits& limits)
      : scope_(scope), budget_(limits.max_output_bytes, limits.max_work_bytes) {}

  // What the whole comes to, as a value of its own.
  Result<Json> Answer(const Node& node) {
    auto come = Value(node);
    if (!come) return come.error();
    return Taken(std::move(*come));
  }

  Result<Come> Value(const Node& node) {
    switch (node.op) {
      case Op::kLiteral: return Come::At(node.literal);
      case Op::kReference: return Reference(node);
      case Op::kFilters: return Filtered(node);
      case Op::kExists: return Made(Exists(node));
      case Op::kList: return Made(List(node));
      case Op::kLength: return Made(Length(node));
      case Op::kNot: return Made(Not(node));
      case Op::kNegate: return Made(Negate(node));
      case Op::kAnd:
      case Op::kOr: return Either(node);
      default: return Made(Both(node));
    }
  }

 private:
  static Error Fails(const Node& node, const std::string& what) {
    return {Code::kInvalid, "at character " + std::to_string(node.offset + 1) + ": " + what};
  }

  static Result<Come> Made(Result<Json> made) {
    if (!made) return made.error();
    return Come(std::move(*made));
  }

  Result<Json> Taken(Come come) {
    if (Status spent = budget_.SpendOutput(SizeOf(*come, budget_.output_left())); !spent) return spent.error();
    return std::move(come).Take();
  }

  Result<Come> Reference(const Node& node) {
    auto looked = LookUp(scope_, node.path, budget_);
    if (!looked) return looked.error();
    if (!*looked)
      return Fails(node, "nothing answers '" + node.path + "'; ask exists(" + node.path + ") first, or give it a default: " + node.path +
                             " | default(0)");
    return Come::At(**looked);
  }

  Result<Json> Exists(const Node& node) {
    auto looked = LookUp(scope_, node.path, budget_);
    if (!looked) return looked.error();
    return Json(*looked != nullptr && !(*looked)->is_null());
  }

  Result<Come> Filtered(const Node& node) {
    const Node& of = *node.of.front();
    Come inner{Json()};
    const Json* value = nullptr;
    if (of.op == Op::kReference) {  // it may be missing, for `default`
      auto looked = LookUp(scope_, of.path, budget_);
      if (!looked) return looked.error();
      value = *looked && !(*looked)->is_null() ? *looked : nullptr;
    } else {
      auto come = Value(of);
      if (!come) return come;
      inner = std::move(*come);
      value = inner->is_null() ? nullptr : &*inner;
    }
    auto filtered = ApplyFilters(node.filters, value, budget_);
    if (!filtered) return Fails(node, filtered.message());
    if (filtered->is_made) return Come(std::move(filtered->made));
    if (!filtered->at && of.op == Op::kReference)
      return Fails(of, "nothing answers '" + of.path + "'; give it a default: " + of.path + " | default(0)");
    if (!filtered->at) return Come(Json());
    return inner.is_made() && of.op != Op::kReference ? Come(*filtered->at) : Come::At(*filtered->at);  // what was made ends here
  }

  Result<Json> List(const Node& node) {
    Json list = Json::array();
    for (const auto& item : node.of) {
      auto come = Value(*item);
      if (!come) return come.error();
      auto value = Taken(std::move(*come));
      if (!value) return value;
      list.push_back(std::move(*value));
    }
    return list;
  }

  Result<Json> Length(const Node& node) {
    auto come = Value(*node.of.front());
    if (!come) return come.error();
    if (std::string wrong = expression::WrongLength(**come); !wrong.empty()) return Fails(node, wrong);
    auto length = ApplyFilters({{"length", {}}}, &**come, budget_);
    if (!length) return Fails(node, length.message());
    return *length->get();
  }

  Result<Json> Not(const Node& node) {
    auto come = Value(*node.of.front());
    if (!come) return come.error();
    const Json& value = **come;
    if (!value.is_boolean()) return Fails(node, "'not' needs true or false, and this is " + std::string(expression::TypeName(value)));
    return Json(!value.get<bool>());
  }

  Result<Json> Negate(const Node& node) {
    auto come = Value(*node.of.front());
    if (!come) return come.error();
    const Json& value = **come;
    if (!value.is_number()) return Fails(node, "'-' needs a number, and this is " + std::string(expression::TypeName(value)));
    return Arithmetic(node, Op::kSubtract, Json(0), value);
  }

  // The right side is looked at only where it decides.
  Result<Come> Either(const Node& node) {
    for (const std::size_t side : {0u, 1u}) {
      auto come = Value(*node.of[side]);
      if (!come) return come;
      const Json& value = **come;
      if (!value.is_boolean())
        return Fails(node, "'" + std::string(TextOf(node.op)) + "' needs true or false, and its " + (side == 0 ? "left" : "right") +
                               " side is " + std::string(expression::TypeName(value)));
      if (side == 1 || value.get<bool>() == (node.op == Op::kOr)) return come;
    }
    return Come(Json());  // not reached
  }

  Result<Json> Both(const Node& node) {
    auto left_come = Value(*node.of[0]);
    if (!left_come) return left_come.error();
    auto right_come = Value(*node.of[1]);
    if (!right_come) return right_come.error();
    const Json &left = **left_come, &right = **right_come;
    if (std::string wrong = expression::WrongTypes(node.op, left, right); !wrong.empty()) return Fails(node, wrong);
    if (expression::IsArithmetic(node.op)) return Arithmetic(node, node.op, left, right);
    if (node.op == Op::kIn || node.op == Op::kNotIn) {
      auto in = In(left, right);
      if (!in) return in.error();
      return Json(*in == (node.op == Op::kIn));
    }
    if (!expression::IsOrder(node.op)) {
      auto same = Same(left, right);
      if (!same) return same.error();
      return Json(*same == (node.op == Op::kEqual));
    }
    if (left.is_string()) {
      const std::size_t reads = std::min(left.get_ref<const std::string&>().size(), right.get_ref<const std::string&>().size());
      if (Status spent = budget_.SpendWork(reads); !spent) return spent.error();
    }
    const int order = left.is_string() ? TextOrder(left, right) : NumberOrder(left, right);
    switch (node.op) {
      case Op::kLess: return Json(order == -1);
      case Op::kAtMost: return Json(order == -1 || order == 0);
      case Op::kGreater: return Json(order == 1);
      default: return Json(order == 1 || order == 0);
    }
  }

  // UTF-8 in the order of its bytes is in that of its code points.
  static int TextOrder(const Json& a, const Json& b) {
    const int order = a.get_ref<const std::string&>().compare(b.get_ref<const std::string&>());
    return order < 0 ? -1 : order > 0;
  }

  Result<bool> Same(const Json& a, const Json& b) {
    if (Status spent = budget_.SpendWork(8); !spent) return spent.error();
    if (a.is_number() && b.is_number()) return NumberOrder(a, b) == 0;
    if (a.type() != b.type()) return false;
    if (a.is_string()) {
      const auto &one = a.get_ref<const std::string&>(), &other = b.get_ref<const std::string&>();
      if (one.size() != other.size()) return false;
      if (Status spent = budget_.SpendWork(one.size()); !spent) return spent.error();
      return one == other;
    }
    if (!a.is_structured()) return a == b;
    if (a.size() != b.size()) return false;
    for (auto it = a.begin(); it != a.end(); ++it) {
      const Json* other = nullptr;
      if (a.is_array()) {
        other = &b[std::size_t(it - a.begin())];
      } else {
        const auto found = b.find(it.key());
        if (Status spent = budget_.SpendWork(b.size()); !spent) return spent.error();
        if (found == b.end()) return false;
        other = &*found;
      }
      auto same = Same(*it, *other);
      if (!same || !*same) return same;
    }
    return true;
  }

  Result<bool> In(const Json& what, const Json& in) {
    if (in.is_array()) {
      for (const Json& item : in) {
        auto same = Same(what, item);
        if (!same || *same) return same;
      }
      return false;
    }
    const auto& part = what.get_ref<const std::string&>();
    const std::size_t reads = in.is_object() ? in.size() : part.size() + in.get_ref<const std::string&>().size();
    if (Status spent = budget_.SpendWork(reads); !spent) return spent.error();
    return in.is_object() ? in.contains(part) : Holds(in.get_ref<const std::string&>(), part);
  }

  static Result<Json> Arithmetic(const Node& node, Op op, const Json& a, const Json& b) {
    if (IsWhole(a) && IsWhole(b)) return Exact(node, op, WholeOf(a), WholeOf(b));
    const double x = a.get<double>(), y = b.get<double>();
    if (op == Op::kRemainder) return Fails(node, "'%' needs whole numbers");
    if (op == Op::kDivide && y == 0) return Fails(node, "a division by zero");
    const double made = op == Op::kAdd ? x + y : op == Op::kSubtract ? x - y : op == Op::kMultiply ? x * y : x / y;
    if (!std::isfinite(made)) return Fails(node, "the number becomes too large");
    return Json(made);
  }

  // Of two numbers below 2^64 a sum fits; a product may not.
  static Result<Json> Exact(const Node& node, Op op, Whole a, Whole b) {
    if ((op == Op::kDivide || op == Op::kRemainder) && b == 0) return Fails(node, "a division by zero");
    Whole made = 0;
    bool over = false;
    switch (op) {
      case Op::kAdd: made = a + b; break;
      case Op::kSubtract: made = a - b; break;
      case Op::kMultiply: over = __builtin_mul_overflow(a, b, &made); break;
      case Op::kRemainder: made = a % b; break;
      default:
        if (a % b != 0) return Json(double(a) / double(b));
        made = a / b;
    }
    if (over || made < Whole(INT64_MIN) || made > Whole(UINT64_MAX)) return Fails(node, "the number becomes too large");
    return made > Whole(INT64_MAX) ? Json(std::uint64_t(made)) : Json(std::int64_t(made));
  }

  const TemplateScope& scope_;
  TemplateBudget budget_;
};

// `may_miss`: what is right below may.
void Collect(const Node& node, bool may_miss, std::vector<ExpressionReference>& out) {
  if (node.op == Op::kReference || node.op == Op::kExists) out.push_back({node.path, node.offset, may_miss || node.op == Op::kExists});
  const bool has_default =
      std::any_of(node.filters.begin(), node.filters.end(), [](const TemplateFilter& filter) { return filter.name == "default"; });
  for (const auto& of : node.of) Collect(*of, has_default, out);
}

}  // namespace

std::vector<ExpressionReference> Expression::References() const {
  std::vector<ExpressionReference> out;
  Collect(*root_, false, out);
  return out;
}

Result<Json> Evaluate(const Expression& expression, const TemplateScope& scope, const TemplateLimits& limits) {
  return Evaluator(scope, limits).Answer(expression.root());
}

Result<bool> EvaluateCondition(const Expression& expression, const TemplateScope& scope, const TemplateLimits& limits) {
  auto value = Evaluate(expression, scope, limits);
  if (!value) return value.error();
  if (!value->is_boolean())
    return Error{Code::kInvalid, "it must come to true or false, and comes to " + std::string(expression::TypeName(*value)) + ": " +
                                     StorableText(DumpJson(*value).substr(0, 200))};
  return value->get<bool>();
}

}  // namespace acl
