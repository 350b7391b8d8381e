package utility

import (
	"cmp"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// writeErrorCmdlet returns Write-Error
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/write-error?view=powershell-5.1).
func writeErrorCmdlet() cmdlet.Cmdlet {
	c := cmdlet.OfMessage(cmdlet.Cmdlet{
		Name:  "Write-Error",
		About: "prints an error of the function or script that calls it",
		Run:   writeError,
	})
	c.Needs = []string{cmdlet.MessageName + "|exception|errorrecord"}
	c.Values = append(c.Values, "exception", "errorrecord", "errorid", "category", "targetobject", "recommendedaction",
		"categoryactivity")
	c.Also = map[string]string{"activity": "categoryactivity", "msg": cmdlet.MessageName}
	return c
}

const writeErrorException = "Microsoft.PowerShell.Commands.WriteErrorException"

// writeError reports an error of what calls: that is whom it names, and where it says that it is.
func writeError(c *cmdlet.Call) error {
	if made := object.Own[*object.ErrorRecord](c.Values["errorrecord"]); made != nil {
		r := *made
		return c.Scope.Report(c, &r)
	}

	r := &object.ErrorRecord{Class: writeErrorException, ID: writeErrorException}
	if of := object.Own[*object.ErrorRecord](c.Values["exception"]); of != nil {
		copied := *of
		r, r.ID = &copied, cmp.Or(of.Class, writeErrorException)
	}
	if _, said := c.Values[cmdlet.MessageName]; said || len(c.Input) > 0 {
		r.Message = object.Text(object.One(c.Items(cmdlet.MessageName)))
	}

	r.Activity = cmp.Or(c.Text("categoryactivity"), c.Name)
	r.ID = cmp.Or(c.Text("errorid"), r.ID)
	r.Target = c.Values["targetobject"]
	if v, given := c.Values["category"]; given {
		category, err := object.ErrorCategory(v)
		if err != nil {
			return err
		}
		r.Category = category
	}

	r.Place = object.Place{By: c.Scope.Caller()}
	if r.By != nil {
		r.At = r.By.At
	}
	return c.Scope.Report(c, r)
}
