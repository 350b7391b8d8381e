package hostnetworking

import (
	"encoding/json"
	"errors"
	"fmt"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// computeQuery is what the Host Compute Service is asked for, as its schema has it
// (https://github.com/microsoft/hcsshim/blob/v0.12.9/internal/hcs/schema1/schema1.go, ComputeSystemQuery).
type computeQuery struct {
	IDs    []string `json:"Ids,omitempty"`
	Types  []string `json:",omitempty"`
	Owners []string `json:",omitempty"`
}

// getComputeProcess outputs the containers and virtual machines that the Host Compute Service runs.
func getComputeProcess(c *cmdlet.Call) error {
	var q computeQuery
	for name, to := range map[string]*[]string{"id": &q.IDs, "type": &q.Types, "owner": &q.Owners} {
		for _, v := range c.Items(name) {
			*to = append(*to, object.Text(v))
		}
	}

	query, err := json.Marshal(q)
	if err != nil {
		return err
	}
	answer, err := c.State.System.Compute(string(query))
	if err != nil {
		return c.Fail(fmt.Errorf("ask the Host Compute Service: %w", err))
	}

	var systems []struct{ ID, SystemType, Owner string }
	if err := json.Unmarshal([]byte(answer), &systems); err != nil {
		return c.Fail(errors.New("the Host Compute Service does not answer in JSON"))
	}

	for _, s := range systems {
		o := object.New(object.Custom).Set("Id", s.ID).Set("Type", s.SystemType).Set("Owner", s.Owner)
		if err := c.Out.Put(o); err != nil {
			return err
		}
	}

	return nil
}

func computeCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "Get-ComputeProcess",
		About:     "containers, and virtual machines of Hyper-V isolation",
		Run:       getComputeProcess,
		Values:    []string{"id", "type", "owner"},
		Positions: []string{"id"},
	}}
}
