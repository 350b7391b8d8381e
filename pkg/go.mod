module mullion.dev/mullion/pkg

go 1.24.0
