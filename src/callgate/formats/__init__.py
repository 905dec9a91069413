"""Values as JSON, and text that is safe to show: two formats that every package uses."""
