//go:build !windows

package keeper

import (
	"context"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/services"
)

// Local returns a System whose Output fails: services are a matter of Windows.
func Local() System { return nowhere{} }

type nowhere struct{}

func (nowhere) Watch(context.Context) error    { return services.NotSupported }
func (nowhere) Output(string, string) error    { return services.NotSupported }
func (nowhere) Environ(string, []string) error { return services.NotSupported }
func (nowhere) Line(args []string) string      { return strings.Join(args, " ") }

func (nowhere) Ended(uint32) (<-chan struct{}, error) { return nil, services.NotSupported }
