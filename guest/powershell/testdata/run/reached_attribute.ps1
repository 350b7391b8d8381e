function f([ValidateUserDrive()]$x) { 1 }
