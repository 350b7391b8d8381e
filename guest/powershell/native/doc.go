// Package native makes types of C# that declares what libraries of Windows have: functions with [DllImport], constants,
// enumerations and structures. It calls the functions as .NET's marshaller does
// (https://learn.microsoft.com/dotnet/framework/interop/marshalling-data-with-platform-invoke). It compiles nothing:
// what has a body is an error that says its line.
package native
