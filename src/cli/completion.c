/*
 * Completion of command lines: scripts for bash, zsh and fish, made from the tables of options.
 *
 * What is completed as an option's argument: the words that its row names, the names that the
 * catalogues know, files, folders and runs; and behind the options of `record` the command line of
 * the program, by that program's own completion.
 */
#include "completion.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/plan.h"
#include "rpistat/plot.h"

/* --- what the tables say ---------------------------------------------------------------------- */

/* Call print() for each option of a command. */
static void each_option(FILE *out, const struct rps_command *command,
                        void (*print)(FILE *out, const struct rps_command *command,
                                      const struct rps_option *option))
{
    struct rps_option option;

    for (int i = 0; rps_options_row(command, i, &option); i++)
        print(out, command, &option);
}

static int has_letter(const struct rps_option *option)
{
    return option->letter < RPS_OPTION_VERSION;
}

/* What an argument is beside words: "file", "folder", "run" or "". */
static const char *source_of(const struct rps_option *option)
{
    if (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "PATH") == 0 ||
        strcmp(option->name, "sets") == 0)
        return "file";
    if (strcmp(option->argument, "DIR") == 0)
        return "folder";
    return strncmp(option->argument, "RUN", 3) == 0 ? "run" : "";
}

/* Text inside '...' of a shell, the characters of `special` behind a backslash; what stands for a
 * quote is the shell's. */
static void print_quoted(FILE *out, const char *text, const char *special, const char *quote)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs(quote, out);
        else
            fprintf(out, "%s%c", strchr(special, *text) != NULL ? "\\" : "", *text);
    }
}

/* The words that an argument may be, with blanks between, and `special` as above. */
static void print_words(FILE *out, const struct rps_option *option, const char *special)
{
    const char *const *names = NULL;

    if (strcmp(option->name, "sets") == 0)
        names = rps_plan_names();
    else if (strcmp(option->name, "scenario") == 0)
        names = rps_plan_scenarios();
    for (int i = 0; names != NULL && names[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", names[i]);
    for (int i = 0; strcmp(option->name, "kind") == 0 && i < RPS_PLOT_KIND_COUNT; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", rps_plot_kinds[i].name);
    if (option->choices != NULL)
        print_quoted(out, option->choices, special, "");
}

static int has_words(const struct rps_option *option)
{
    return option->choices != NULL || strcmp(option->name, "sets") == 0 ||
           strcmp(option->name, "scenario") == 0 || strcmp(option->name, "kind") == 0;
}

/* What the operands of a command are: "run", "file" or "". */
static const char *operands_of(const struct rps_command *command)
{
    if (strstr(command->usage, "[RUN...]") != NULL || strstr(command->usage, "[A] [B]") != NULL)
        return "run";
    return strstr(command->usage, "FILE...") != NULL || strstr(command->usage, "OTHER...") != NULL
               ? "file"
               : "";
}

/* "record runs ..." */
static void print_commands(FILE *out)
{
    for (int i = 0; rps_commands[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", rps_commands[i]->name);
}

/* "--output -o ", of one that takes an argument. */
static void print_taking(FILE *out, const struct rps_command *command,
                         const struct rps_option *option)
{
    (void)command;
    if (option->argument == NULL)
        return;
    if (has_letter(option))
        fprintf(out, "-%c ", option->letter);
    fprintf(out, "--%s ", option->name);
}

/* Reads what `runs` lists; writes numbers, labels and tags that a shell takes without quotes. */
static const char runs_awk[] =
    "awk 'NR == 1 { at = index($0, \"LABEL\"); end = match($0, /TAGS|START/); start = index($0, "
    "\"START\") }\n"
    "            NR > 1 { print $1; label = substr($0, at, end - at); sub(/ +$/, \"\", label)\n"
    "                     if (label != \"-\" && label !~ /[^A-Za-z0-9_.,@%+-]/) print label\n"
    "                     n = split(substr($0, end, start - end), tag, \" \")\n"
    "                     for (i = 1; i <= n; i++)\n"
    "                         if (tag[i] ~ /^[A-Za-z0-9_.,@%+-]+=[A-Za-z0-9_.,@%+-]+$/) print "
    "tag[i] }'";

/* --- bash ------------------------------------------------------------------------------------- */

static void print_bash_name(FILE *out, const struct rps_command *command,
                            const struct rps_option *option)
{
    (void)command;
    fprintf(out, "--%s%s ", option->name, option->argument != NULL ? "=" : "");
}

static void print_bash_argument(FILE *out, const struct rps_command *command,
                                const struct rps_option *option)
{
    if (option->argument == NULL || (!has_words(option) && source_of(option)[0] == '\0'))
        return;
    fprintf(out, "    '%s --%s'", command->name, option->name);
    if (has_letter(option))
        fprintf(out, " | '%s -%c'", command->name, option->letter);
    fputs(") words='", out);
    print_words(out, option, "");
    fprintf(out, "' source=%s ;;\n", source_of(option));
}

/* The rest of the function, behind the list of commands. */
static const char bash_rest[] =
    "'\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} name=record first=1 option='' store=''\n"
    "    local i word before options taking words='' source='' prefix='' program='' IFS=$' "
    "\\t\\n'\n"
    "\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD > 1)) && [[ \" $commands \" == *\" ${COMP_WORDS[1]} \"* ]]; then\n"
    "        name=${COMP_WORDS[1]} first=2\n"
    "    fi\n"
    "    _rpistat_options \"$name\"\n"
    "    # bash makes words of their own of = and :\n"
    "    for ((i = first; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]} before=${COMP_WORDS[i - 1]}\n"
    "        if [[ $word == [=:] ]]; then\n"
    "            continue\n"
    "        elif [[ $option ]]; then\n"
    "            [[ $option == -i || $option == --input ]] && store=$word\n"
    "            option=''\n"
    "        elif [[ $before == [=:] && i -gt first ]]; then\n"
    "            continue\n"
    "        elif [[ $name == record && ($word != -* || $word == --) ]]; then\n"
    "            program=$i\n"
    "            [[ $word == -- ]] && ((program++))\n"
    "            break\n"
    "        elif [[ $taking == *\" $word \"* ]]; then\n"
    "            option=$word\n"
    "        fi\n"
    "    done\n"
    "    [[ $cur == = ]] && cur=''\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        option=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}\n"
    "    fi\n"
    "    if [[ -z $program && -z $option && $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
    "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "        return\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
    "        [[ ${COMPREPLY[0]} ]] && return\n"
    "    fi\n"
    "    if [[ $name == record && -z $option ]]; then\n"
    "        : \"${program:=$COMP_CWORD}\"\n"
    "        if declare -F _comp_command_offset >/dev/null; then\n"
    "            _comp_command_offset \"$program\"\n"
    "        elif declare -F _command_offset >/dev/null; then\n"
    "            _command_offset \"$program\"\n"
    "        else\n"
    "            local action=-f\n"
    "            ((program == COMP_CWORD)) && action=-c\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            IFS=$'\\n'\n"
    "            COMPREPLY=($(compgen $action -- \"$cur\"))\n"
    "        fi\n"
    "        return\n"
    "    fi\n"
    "    _rpistat_argument \"$name\" \"$option\"\n"
    "    case $source in\n"
    "    run) words+=\" last $(_rpistat_runs \"${COMP_WORDS[0]}\" \"$store\")\" ;;\n"
    "    file | folder) compopt -o filenames 2>/dev/null ;;\n"
    "    esac\n"
    "    COMPREPLY=($(compgen -P \"$prefix\" -W \"$words\" -- \"$cur\"))\n"
    "    [[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null\n"
    "    IFS=$'\\n'\n"
    "    case $source in\n"
    "    file) COMPREPLY+=($(compgen -P \"$prefix\" -f -- \"$cur\")) ;;\n"
    "    folder) COMPREPLY+=($(compgen -P \"$prefix\" -d -- \"$cur\")) ;;\n"
    "    esac\n"
    "}\n\n"
    "complete -F _rpistat rpistat\n";

static void print_bash(FILE *out)
{
    fprintf(out,
            "# bash completion for rpistat, made by `rpistat --completion bash`\n\n"
            "_rpistat_runs() # PROGRAM STORE\n{\n"
            "    RPISTAT_STORE=${2:-$RPISTAT_STORE} \"$1\" runs 2>/dev/null |\n        %s\n}\n\n"
            "_rpistat_options() # COMMAND: its options, and those with an argument\n{\n"
            "    case $1 in\n",
            runs_awk);
    for (int i = 0; rps_commands[i] != NULL; i++) {
        fprintf(out, "    %s)\n        options='", rps_commands[i]->name);
        each_option(out, rps_commands[i], print_bash_name);
        fputs("'\n        taking=' ", out);
        each_option(out, rps_commands[i], print_taking);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n}\n\n_rpistat_argument() # COMMAND OPTION: what its argument may be\n{\n"
          "    case \"$1 $2\" in\n",
          out);
    for (int i = 0; rps_commands[i] != NULL; i++)
        each_option(out, rps_commands[i], print_bash_argument);
    for (int i = 0; rps_commands[i] != NULL; i++) {
        if (operands_of(rps_commands[i])[0] != '\0')
            fprintf(out, "    '%s ') source=%s ;;\n", rps_commands[i]->name,
                    operands_of(rps_commands[i]));
    }
    fputs("    esac\n}\n\n_rpistat()\n{\n    local commands='", out);
    print_commands(out);
    fputs(bash_rest, out);
}

/* --- zsh -------------------------------------------------------------------------------------- */

static void print_zsh_option(FILE *out, const struct rps_command *command,
                             const struct rps_option *option)
{
    const char *equals = option->argument != NULL ? "=" : "";

    (void)command;
    if (has_letter(option))
        fprintf(out, "            '(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name,
                option->letter, option->argument != NULL ? "+" : "", option->name, equals);
    else
        fprintf(out, "            '--%s%s[", option->name, equals);
    print_quoted(out, option->help, "[]:\\", "'\\''");
    fputc(']', out);
    if (option->argument != NULL) {
        fprintf(out, ":%s:", option->argument);
        if (strcmp(source_of(option), "run") == 0)
            fputs(" _rpistat_runs", out);
        else if (has_words(option) && strcmp(source_of(option), "file") == 0)
            fputs(" _rpistat_words_or_files ", out);
        else if (strcmp(source_of(option), "file") == 0)
            fputs("_files", out);
        else if (strcmp(source_of(option), "folder") == 0)
            fputs("_files -/", out);
        else if (has_words(option))
            fputs(" _rpistat_words ", out);
        else
            fputc(' ', out); /* nothing is completed */
        print_words(out, option, ":");
    }
    fputs("' \\\n", out);
}

static void print_zsh(FILE *out)
{
    fprintf(out,
            "#compdef rpistat\n"
            "# zsh completion for rpistat, made by `rpistat --completion zsh`\n\n"
            "_rpistat_words() {\n"
            "    compadd -S '' -- ${(M)@:#*:}\n"
            "    compadd -- ${@:#*:}\n"
            "}\n\n"
            "_rpistat_words_or_files() {\n"
            "    _alternative \"words:word:($*)\" 'files:file:_files'\n"
            "}\n\n"
            "_rpistat_runs() {\n"
            "    local store=${opt_args[-i]:-${opt_args[--input]:-$RPISTAT_STORE}}\n"
            "    local -a runs\n"
            "    runs=(last ${(f)\"$(RPISTAT_STORE=$store $rpistat runs 2>/dev/null |\n"
            "        %s)\"})\n"
            "    compadd -- $runs\n"
            "}\n\n"
            "_rpistat() {\n"
            "    local curcontext=\"$curcontext\" name=record rpistat=$words[1]\n"
            "    typeset -A opt_args\n"
            "    local -a commands=(\n",
            runs_awk);
    for (int i = 0; rps_commands[i] != NULL; i++) {
        fprintf(out, "        '%s:", rps_commands[i]->name);
        print_quoted(out, rps_commands[i]->summary, ":\\", "'\\''");
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then\n"
          "        _describe -t commands 'rpistat command' commands && return\n"
          "    elif (( CURRENT > 2 )) && [[ -n ${(M)commands:#$words[2]:*} ]]; then\n"
          "        name=$words[2]\n"
          "        shift words\n"
          "        (( CURRENT-- ))\n"
          "    fi\n"
          "    case $name in\n",
          out);
    for (int i = 0; rps_commands[i] != NULL; i++) {
        fprintf(out, "    %s)\n        _arguments -s -S %s\\\n", rps_commands[i]->name,
                rps_commands[i]->runs_workload ? "-A '-*' " : "");
        each_option(out, rps_commands[i], print_zsh_option);
        if (rps_commands[i]->runs_workload)
            fputs("            '(-)1:program: _command_names -e' '*::argument: _normal' ;;\n", out);
        else if (strcmp(operands_of(rps_commands[i]), "run") == 0)
            fputs("            '*:RUN: _rpistat_runs' ;;\n", out);
        else if (strcmp(operands_of(rps_commands[i]), "file") == 0)
            fputs("            '*:FILE:_files' ;;\n", out);
        else
            fputs("            ;;\n", out);
    }
    fputs("    esac\n}\n\n_rpistat \"$@\"\n", out);
}

/* --- fish ------------------------------------------------------------------------------------- */

static void print_fish_option(FILE *out, const struct rps_command *command,
                              const struct rps_option *option)
{
    fprintf(out, "complete -c rpistat -n '__rpistat_at %s'", command->name);
    if (has_letter(option))
        fprintf(out, " -s %c", option->letter);
    fprintf(out, " -l %s", option->name);
    if (option->argument != NULL) {
        const char *source = source_of(option);

        fputs(strcmp(source, "file") == 0 ? " -r -F" : " -x", out);
        fputs(" -a '", out);
        if (strcmp(source, "run") == 0)
            fputs("(__rpistat_runs)", out);
        else if (strcmp(source, "folder") == 0)
            fputs("(__fish_complete_directories)", out);
        print_words(out, option, "");
        fputc('\'', out);
    }
    fputs(" -d '", out);
    print_quoted(out, option->help, "\\", "\\'");
    fputs("'\n", out);
}

static void print_fish(FILE *out)
{
    fputs("# fish completion for rpistat, made by `rpistat --completion fish`\n\n"
          "set -g __rpistat_commands ",
          out);
    print_commands(out);
    fputs("\nset -g __rpistat_taking ", out);
    each_option(out, &rps_command_record, print_taking);
    fprintf(out,
            "\n\nfunction __rpistat_at -a name -d 'at the options of a command'\n"
            "    set -l words (commandline -opc)[2..]\n"
            "    set -l command record\n"
            "    set -l is_value 0\n"
            "    if contains -- \"$words[1]\" $__rpistat_commands\n"
            "        set command $words[1]\n"
            "        set -e words[1]\n"
            "    end\n"
            "    test $command = $name; or return 1\n"
            "    test $name = record; or return 0\n"
            "    for word in $words\n"
            "        if test $is_value = 1\n"
            "            set is_value 0\n"
            "        else if contains -- $word $__rpistat_taking\n"
            "            set is_value 1\n"
            "        else if test $word = --; or not string match -q -- '-*' $word\n"
            "            return 1\n"
            "        end\n"
            "    end\n"
            "end\n\n"
            "function __rpistat_program -d 'the program that is recorded'\n"
            "    set -l words (commandline -opc)[2..]\n"
            "    set -l skip 1\n"
            "    if test \"$words[1]\" = record\n"
            "        set skip 2\n"
            "    else if contains -- \"$words[1]\" $__rpistat_commands\n"
            "        return\n"
            "    else if not set -q words[1]; and string match -q -- (commandline -ct)'*' "
            "$__rpistat_commands\n"
            "        return\n"
            "    end\n"
            "    __fish_complete_subcommand --fcs-skip=$skip $__rpistat_taking\n"
            "end\n\n"
            "function __rpistat_runs -d 'the runs of the store'\n"
            "    set -l words (commandline -opc)\n"
            "    set -l store $RPISTAT_STORE\n"
            "    for option in -i --input\n"
            "        if set -l at (contains -i -- $option $words)\n"
            "            set store $words[(math $at + 1)]\n"
            "        end\n"
            "    end\n"
            "    echo last\n"
            "    RPISTAT_STORE=$store $words[1] runs 2>/dev/null |\n        %s\n"
            "end\n\n"
            "complete -c rpistat -f\n"
            "complete -c rpistat -a '(__rpistat_program)'\n",
            runs_awk);
    for (int i = 0; rps_commands[i] != NULL; i++) {
        fprintf(out, "complete -c rpistat -n 'test (count (commandline -opc)) = 1' -a %s -d '",
                rps_commands[i]->name);
        print_quoted(out, rps_commands[i]->summary, "\\", "\\'");
        fputs("'\n", out);
        if (operands_of(rps_commands[i])[0] != '\0')
            fprintf(out, "complete -c rpistat -n '__rpistat_at %s' %s\n", rps_commands[i]->name,
                    strcmp(operands_of(rps_commands[i]), "run") == 0 ? "-a '(__rpistat_runs)'"
                                                                     : "-F");
        each_option(out, rps_commands[i], print_fish_option);
    }
}

/* --- which ------------------------------------------------------------------------------------ */

int rps_completion_print(FILE *out, const char *shell, struct rps_error *err)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(out);
            return 0;
        }
    }
    return rps_error_set(err, RPS_USAGE, "--completion: '%s' is none of bash, zsh and fish", shell);
}
