//go:build kernel || wine || cluster

package kdctest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/service"
	"github.com/jcmturner/gokrb5/v8/spnego"
)

// Service returns an HTTP service with the keys of a keytab, which tells clients that log on by Kerberos who they are,
// and refuses all others.
func Service(t *testing.T, keys string) http.Handler {
	t.Helper()
	kt, err := keytab.Load(keys)
	if err != nil {
		t.Fatal(err)
	}
	settings := service.NewSettings(kt, service.DecodePAC(false))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Negotiate ")
		data, err := base64.StdEncoding.DecodeString(text)
		var token spnego.KRB5Token
		if err == nil {
			err = token.Unmarshal(data)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("no token: %v", err), http.StatusUnauthorized)
			return
		}

		ok, who, err := service.VerifyAPREQ(&token.APReq, settings)
		if err != nil || !ok {
			http.Error(w, fmt.Sprintf("not believed: %v", err), http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, "you are %s@%s", who.UserName(), who.Realm())
	})
}
