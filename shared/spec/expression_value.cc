// What an expression comes to.

#include <cmath>
#include <limits>

#include "shared/spec/expression.h"
#include "shared/spec/expression_node.h"

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

class Evaluator {
 public:
  Evaluator(const TemplateScope& scope, const TemplateLimits& limits)
      : scope_(scope), budget_(limits.max_output_bytes, limits.max_work_bytes) {}

  Result<Json> Value(const Node& node) {
    switch (node.op) {
      case Op::kLiteral: return node.literal;
      case Op::kReference: return Reference(node);
      case Op::kFilters: return Filtered(node);
      case Op::kExists: return Exists(node);
      case Op::kList: return List(node);
      case Op::kLength: return Length(node);
      case Op::kNot: return Not(node);
      case Op::kNegate: return Negate(node);
      case Op::kAnd:
      case Op::kOr: return Either(node);
      default: return Both(node);
    }
  }

 private:
  static Error Fails(const Node& node, const std::string& what) {
    return {Code::kInvalid, "at character " + std::to_string(node.offset + 1) + ": " + what};
  }

  Result<Json> Reference(const Node& node) {
    auto looked = LookUp(scope_, node.path, budget_);
    if (!looked) return looked.error();
    if (!*looked)
      return Fails(node, "nothing answers '" + node.path + "'; ask exists(" + node.path + ") first, or give it a default: " + node.path +
                             " | default(0)");
    if (Status spent = budget_.SpendWork(SizeOf(**looked, budget_.output_left())); !spent) return spent.error();
    return **looked;
  }

  Result<Json> Exists(const Node& node) {
    auto looked = LookUp(scope_, node.path, budget_);
    if (!looked) return looked.error();
    return Json(*looked != nullptr && !(*looked)->is_null());
  }

  Result<Json> Filtered(const Node& node) {
    const Node& of = *node.of.front();
    Json made;
    const Json* value = nullptr;
    if (of.op == Op::kReference) {  // it may be missing, for `default`
      auto looked = LookUp(scope_, of.path, budget_);
      if (!looked) return looked.error();
      value = *looked && !(*looked)->is_null() ? *looked : nullptr;
    } else {
      auto inner = Value(of);
      if (!inner) return inner;
      made = std::move(*inner);
      value = made.is_null() ? nullptr : &made;
    }
    auto filtered = ApplyFilters(node.filters, value, budget_);
    if (!filtered) return Fails(node, filtered.message());
    const Json* answer = filtered->get();
    if (!answer && of.op == Op::kReference)
      return Fails(of, "nothing answers '" + of.path + "'; give it a default: " + of.path + " | default(0)");
    return answer ? *answer : Json();
  }

  Result<Json> List(const Node& node) {
    Json list = Json::array();
    for (const auto& item : node.of) {
      auto value = Value(*item);
      if (!value) return value;
      if (Status spent = budget_.SpendOutput(SizeOf(*value, budget_.output_left())); !spent) return spent.error();
      list.push_back(std::move(*value));
    }
    return list;
  }

  Result<Json> Length(const Node& node) {
    auto value = Value(*node.of.front());
    if (!value) return value;
    if (!value->is_string() && !value->is_structured())
      return Fails(node, "length() needs a text, a list or a map, and this is " + std::string(expression::TypeName(*value)));
    auto length = ApplyFilters({{"length", {}}}, &*value, budget_);
    if (!length) return Fails(node, length.message());
    return *length->get();
  }

  Result<Json> Not(const Node& node) {
    auto value = Value(*node.of.front());
    if (!value) return value;
    if (!value->is_boolean()) return Fails(node, "'not' needs true or false, and this is " + std::string(expression::TypeName(*value)));
    return Json(!value->get<bool>());
  }

  Result<Json> Negate(const Node& node) {
    auto value = Value(*node.of.front());
    if (!value) return value;
    if (!value->is_number()) return Fails(node, "'-' needs a number, and this is " + std::string(expression::TypeName(*value)));
    return Arithmetic(node, Op::kSubtract, Json(0), *value);
  }

  // The right side is looked at only where it decides.
  Result<Json> Either(const Node& node) {
    auto left = Value(*node.of[0]);
    if (!left) return left;
    if (!left->is_boolean())
      return Fails(node, "'" + std::string(TextOf(node.op)) + "' needs true or false, and its left side is " +
                             std::string(expression::TypeName(*left)));
    if (left->get<bool>() == (node.op == Op::kOr)) return left;
    auto right = Value(*node.of[1]);
    if (!right) return right;
    if (!right->is_boolean())
      return Fails(node, "'" + std::string(TextOf(node.op)) + "' needs true or false, and its right side is " +
                             std::string(expression::TypeName(*right)));
    return right;
  }

  Result<Json> Both(const Node& node) {
    auto left = Value(*node.of[0]);
    if (!left) return left;
    auto right = Value(*node.of[1]);
    if (!right) return right;
    if (std::string wrong = expression::WrongTypes(node.op, *left, *right); !wrong.empty()) return Fails(node, wrong);
    if (expression::IsArithmetic(node.op)) return Arithmetic(node, node.op, *left, *right);
    if (node.op == Op::kIn || node.op == Op::kNotIn) {
      auto in = In(*left, *right);
      if (!in) return in.error();
      return Json(*in == (node.op == Op::kIn));
    }
    if (!expression::IsOrder(node.op)) {
      auto same = Same(*left, *right);
      if (!same) return same.error();
      return Json(*same == (node.op == Op::kEqual));
    }
    const int order = left->is_string() ? TextOrder(*left, *right) : NumberOrder(*left, *right);
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
    if (Status spent = budget_.SpendWork(SizeOf(in, budget_.output_left())); !spent) return spent.error();
    if (in.is_object()) return in.contains(what.get_ref<const std::string&>());
    if (in.is_string()) return in.get_ref<const std::string&>().find(what.get_ref<const std::string&>()) != std::string::npos;
    for (const Json& item : in) {
      auto same = Same(what, item);
      if (!same || *same) return same;
    }
    return false;
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

// Operators that may stand in a row, from the left.
int RankOf(Op op) {
  if (op == Op::kOr) return 1;
  if (op == Op::kAnd) return 2;
  if (op == Op::kAdd || op == Op::kSubtract) return 3;
  return op == Op::kMultiply || op == Op::kDivide || op == Op::kRemainder ? 4 : 0;
}

// Brackets around all that is made of parts, but for the left side of a row: it reads as the same, whatever stands beside it.
std::string Written(const Node& node) {
  const auto part = [&](std::size_t n) {
    const Node& of = *node.of[n];
    const bool whole =
        of.op == Op::kLiteral || of.op == Op::kReference || of.op == Op::kExists || of.op == Op::kLength || of.op == Op::kList;
    return whole ? Written(of) : "(" + Written(of) + ")";
  };
  switch (node.op) {
    case Op::kLiteral: return DumpJson(node.literal);
    case Op::kReference: return node.path;
    case Op::kExists: return "exists(" + node.path + ")";
    case Op::kLength: return "length(" + Written(*node.of[0]) + ")";
    case Op::kNot: return "not " + part(0);
    case Op::kNegate: return "-" + std::string(node.of[0]->op == Op::kLiteral ? "(" + Written(*node.of[0]) + ")" : part(0));
    case Op::kList: {
      std::string text = "[";
      for (std::size_t n = 0; n < node.of.size(); ++n) text += (n > 0 ? ", " : "") + Written(*node.of[n]);
      return text + "]";
    }
    case Op::kFilters: {
      std::string text = part(0);
      for (const TemplateFilter& filter : node.filters) {
        text += " | " + filter.name;
        for (std::size_t n = 0; n < filter.arguments.size(); ++n) text += (n > 0 ? ", " : "(") + DumpJson(filter.arguments[n]);
        if (!filter.arguments.empty()) text += ")";
      }
      return text;
    }
    default: {
      const bool in_row = RankOf(node.op) > 0 && RankOf(node.op) == RankOf(node.of[0]->op);
      return (in_row ? Written(*node.of[0]) : part(0)) + " " + std::string(TextOf(node.op)) + " " + part(1);
    }
  }
}

}  // namespace

std::string Expression::Canonical() const { return Written(*root_); }

std::vector<ExpressionReference> Expression::References() const {
  std::vector<ExpressionReference> out;
  Collect(*root_, false, out);
  return out;
}

Result<Json> Evaluate(const Expression& expression, const TemplateScope& scope, const TemplateLimits& limits) {
  return Evaluator(scope, limits).Value(expression.root());
}

Result<bool> EvaluateCondition(const Expression& expression, const TemplateScope& scope, const TemplateLimits& limits) {
  auto value = Evaluate(expression, scope, limits);
  if (!value) return value.error();
  if (!value->is_boolean())
    return Error{Code::kInvalid, "it must come to true or false, and comes to " + std::string(expression::TypeName(*value)) + ": " +
                                     DumpJson(*value).substr(0, 200)};
  return value->get<bool>();
}

}  // namespace acl
