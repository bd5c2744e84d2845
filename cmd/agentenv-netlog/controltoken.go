package main

import (
	"fmt"
	"os"

	"github.com/agentenv/netlog/cmd/internal/api"
)

// tokenVariable holds the token of who controls an env.
const tokenVariable = "AGENTENV_CONTROL_TOKEN"

const tokenHelp = `The environment variable ` + tokenVariable + ` is the token that all but the card
ask for (Authorization: Bearer TOKEN). Without it they are open to whoever reaches
them.`

// takeToken reads the control token and takes it out of the environment, so that
// no program that is started from here gets it.
func takeToken() string {
	token := os.Getenv(tokenVariable)
	os.Unsetenv(tokenVariable)
	return token
}

func checkToken(token string) error {
	if err := api.CheckToken(token); err != nil {
		return misused(fmt.Errorf("%s: %w", tokenVariable, err), "set it to the token alone, without quotes or a line's end")
	}
	return nil
}
