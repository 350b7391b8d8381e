// Package dotnet has all classes of .NET that are here, by their names, and the conversions to them. The classes of
// values are in package object; here are those that need a session: files, the environment, HTTP, access lists,
// processes.
package dotnet
