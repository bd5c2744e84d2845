package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// run does what the arguments say and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(takeToken())
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	return report(stderr, command.CommandPath(), err)
}

// newRoot makes the command with all that are below it; token is the control
// token.
func newRoot(token string) *cobra.Command {
	root := &cobra.Command{
		Use:   program,
		Short: "Record what a browser does on the network",
		Long: `Record what a browser, or any other program that takes a proxy, does on the
network: a proxy writes every exchange, tunnel and WebSocket to a numbered log
(JSON Lines), which becomes a HAR (1.2) at any time.

Each flag is also an environment variable: --ca-dir is AGENTENV_NETLOG_CA_DIR.
A flag wins over its variable; an empty variable is as none.`,
		Example: `  agentenv-netlog demo
  agentenv-netlog record -- curl https://example.com/
  agentenv-netlog proxy --listen 127.0.0.1:8080`,
		Version:           programVersion(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return flagsFromEnvironment(c) },
	}
	makeGroup(root)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetHelpCommand(newHelp())
	root.AddCommand(newProxy(token), newHAR(), newShow(), newCheck(), newRecord(token), newCapture(), newServe(token), newFetch(token), newFetchWork(), newDemo(), newCA(), newSites(token))
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		makeGroup(completion)
	}
	markFailures(root)
	keepFlagOrder(root)
	return root
}

// keepFlagOrder has the help of c and the commands below it name flags in the order
// in which they were added: what belongs together stands together.
func keepFlagOrder(c *cobra.Command) {
	c.Flags().SortFlags = false
	for _, below := range c.Commands() {
		keepFlagOrder(below)
	}
}

// makeGroup makes c a command that only groups others.
func makeGroup(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs // else cobra itself words the error, in several lines
	c.SuggestionsMinimumDistance = 2
	c.RunE = runGroup
}

func runGroup(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hint := ""
	if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = fmt.Sprintf("did you mean: %s %s?", c.CommandPath(), similar[0])
	}
	return misused(fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath()), hint)
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Show the help of a command",
		Example:           "  agentenv-netlog help record",
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // no variable keeps anyone from help
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return runGroup(c.Root(), args)
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// markFailures tells the errors of c and the commands below it from those that
// cobra finds in a command line: an error without a mark is one of the latter.
func markFailures(c *cobra.Command) {
	if c.RunE != nil {
		work := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			err := work(c, args)
			var f *failure
			var code exitCode
			if err == nil || errors.As(err, &f) || errors.As(err, &code) {
				return err
			}
			return failed(err, "")
		}
	}
	for _, below := range c.Commands() {
		markFailures(below)
	}
}

// flagsFromEnvironment sets the flags that were not given from their variables.
func flagsFromEnvironment(c *cobra.Command) error {
	var err error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Changed || f.Name == "help" || f.Name == "version" {
			return
		}
		name := variable(f.Name)
		value := os.Getenv(name)
		if value == "" {
			return
		}
		if e := c.Flags().Set(f.Name, value); e != nil {
			// pflag's error names the flag, which the user has not given.
			cause := e
			for inner := errors.Unwrap(cause); inner != nil; inner = errors.Unwrap(cause) {
				cause = inner
			}
			err = misused(fmt.Errorf("%s=%q: %w", name, value, cause),
				fmt.Sprintf("it stands for --%s of %s; unset it or mend it", f.Name, c.CommandPath()))
		}
	})
	return err
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "AGENTENV_NETLOG_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
