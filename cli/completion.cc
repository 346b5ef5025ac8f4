// airun completion bash|zsh|fish: the scripts are made from the command tree, so they cannot fall behind it.
#include "cli/app.h"

namespace acl::cli {

namespace {

struct Node {
  std::string path;                                              // "airun workflow run"
  std::vector<std::pair<std::string, std::string>> subcommands;  // name, help
  std::vector<std::pair<std::string, std::string>> flags;        // "--wait", help
};

std::vector<CLI::App*> Children(const CLI::App& app) {
  auto* mutable_app = const_cast<CLI::App*>(&app);  // CLI11 2.1 has no const form with a filter that gives non-const children
  return mutable_app->get_subcommands([](CLI::App*) { return true; });
}

void Walk(const CLI::App& app, const std::string& path, std::vector<std::pair<std::string, std::string>> inherited,
          std::vector<Node>* out) {
  Node node;
  node.path = path;
  for (const CLI::App* child : Children(app)) node.subcommands.emplace_back(child->get_name(), child->get_description());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    for (const std::string& name : option->get_lnames())
      if (std::none_of(inherited.begin(), inherited.end(), [&](const auto& one) { return one.first == "--" + name; }))
        inherited.emplace_back("--" + name, option->get_description());
  }
  node.flags = inherited;
  out->push_back(node);
  for (const CLI::App* child : Children(app)) Walk(*child, path + " " + child->get_name(), inherited, out);
}

std::string Joined(const std::vector<std::pair<std::string, std::string>>& words) {
  std::string out;
  for (const auto& [word, help] : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// For single quotes of a shell.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string Bash(const std::vector<Node>& nodes) {
  std::string cases;
  for (const Node& node : nodes)
    cases +=
        "    " + Quoted(node.path) + ") subcommands=" + Quoted(Joined(node.subcommands)) + " flags=" + Quoted(Joined(node.flags)) + " ;;\n";
  return "# bash completion for airun; load it by: source <(airun completion bash)\n"
         "_airun_words() {\n  case $1 in\n" +
         cases +
         "    *) return 1 ;;\n  esac\n}\n"
         "_airun() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path=airun subcommands='' flags='' word i\n"
         "  _airun_words \"$path\"\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=${COMP_WORDS[i]}\n"
         "    case \" $subcommands \" in *\" $word \"*) path=\"$path $word\"; _airun_words \"$path\" ;; esac\n"
         "  done\n"
         "  case $current in\n"
         "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$current\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$subcommands\" -- \"$current\")); [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "
         "\"$current\")) ;;\n"
         "  esac\n}\n"
         "complete -F _airun airun\n";
}

std::string Zsh(const std::vector<Node>& nodes) {
  std::string cases;
  for (const Node& node : nodes) {
    cases += "    " + Quoted(node.path) + ")\n      subcommands=(";
    for (const auto& [word, help] : node.subcommands) cases += Quoted(word + ":" + help) + " ";
    cases += ")\n      flags=(";
    for (const auto& [word, help] : node.flags) cases += Quoted(word + ":" + help) + " ";
    cases += ") ;;\n";
  }
  return "#compdef airun\n# zsh completion for airun; load it by: source <(airun completion zsh)\n"
         "_airun_words() {\n  case $1 in\n" +
         cases +
         "    *) return 1 ;;\n  esac\n}\n"
         "_airun() {\n"
         "  local -a subcommands flags\n  local way=airun word i\n"
         "  _airun_words \"$way\"\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    word=$words[i]\n"
         "    if (( ${subcommands[(I)$word:*]} )); then way=\"$way $word\"; _airun_words \"$way\"; fi\n"
         "  done\n"
         "  if [[ $words[CURRENT] == -* ]]; then _describe -o flag flags\n"
         "  elif (( $#subcommands )); then _describe command subcommands\n"
         "  else _files; fi\n}\n"
         "compdef _airun airun\n";
}

std::string Fish(const std::vector<Node>& nodes) {
  std::string out =
      "# fish completion for airun; load it by: airun completion fish | source\n"
      "function __airun_at\n"
      "  set -l words (commandline -opc)\n"
      "  set -l way\n"
      "  for word in $words[2..-1]\n"
      "    string match -q -- '-*' $word; or set way $way $word\n"
      "  end\n"
      "  test \"$way[1..\"(count $argv)\"]\" = \"$argv\"\n"
      "end\n"
      "function __airun_exactly\n"
      "  set -l words (commandline -opc)\n"
      "  set -l way\n"
      "  for word in $words[2..-1]\n"
      "    string match -q -- '-*' $word; or set way $way $word\n"
      "  end\n"
      "  test \"$way\" = \"$argv\"\n"
      "end\n";
  for (const Node& node : nodes) {
    const std::string way = node.path.size() > 6 ? node.path.substr(6) : "";
    if (!node.subcommands.empty()) out += "complete -c airun -f -n '__airun_exactly " + way + "'\n";
    for (const auto& [word, help] : node.subcommands)
      out += "complete -c airun -f -n '__airun_exactly " + way + "' -a " + Quoted(word) + " -d " + Quoted(help) + "\n";
    for (const auto& [word, help] : node.flags)
      if (node.subcommands.empty())
        out += "complete -c airun -n '__airun_at " + way + "' -l " + word.substr(2) + " -d " + Quoted(help) + "\n";
  }
  return out;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  std::vector<Node> nodes;
  Walk(app, "airun", {}, &nodes);
  return shell == "bash" ? Bash(nodes) : shell == "zsh" ? Zsh(nodes) : Fish(nodes);
}

void AddCompletionCommand(CLI::App* app, Session* session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand("completion", "a script that completes airun's words: source <(airun completion bash)");
  command->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([=] { session->Write(CompletionScript(*app, *shell)); });
}

}  // namespace acl::cli
