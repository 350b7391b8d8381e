package powershell

import (
	"encoding/json"
	"errors"
	"fmt"
)

// computeQuery is what the Host Compute Service is asked for, as its schema has it
// (https://github.com/microsoft/hcsshim/blob/v0.12.9/internal/hcs/schema1/schema1.go, ComputeSystemQuery).
type computeQuery struct {
	IDs    []string `json:"Ids,omitempty"`
	Types  []string `json:",omitempty"`
	Owners []string `json:",omitempty"`
}

// getComputeProcess outputs the containers and virtual machines that the Host Compute Service runs.
func getComputeProcess(c *call) error {
	var q computeQuery
	for name, to := range map[string]*[]string{"id": &q.IDs, "type": &q.Types, "owner": &q.Owners} {
		for _, v := range c.items(name) {
			*to = append(*to, text(v))
		}
	}
	query, err := json.Marshal(q)
	if err != nil {
		return err
	}
	answer, err := c.f.in.session.system().compute(string(query))
	if err != nil {
		return c.fail(fmt.Errorf("ask the Host Compute Service: %w", err))
	}
	var systems []struct{ ID, SystemType, Owner string }
	if err := json.Unmarshal([]byte(answer), &systems); err != nil {
		return c.fail(errors.New("the Host Compute Service does not answer in JSON"))
	}
	for _, s := range systems {
		o := newObject(custom).set("Id", s.ID).set("Type", s.SystemType).set("Owner", s.Owner)
		if err := c.out.put(o); err != nil {
			return err
		}
	}
	return nil
}

func computeCmdlets() []cmdlet {
	return []cmdlet{{
		name:      "Get-ComputeProcess",
		about:     "containers, and virtual machines of Hyper-V isolation",
		run:       getComputeProcess,
		values:    []string{"id", "type", "owner"},
		positions: []string{"id"},
	}}
}
