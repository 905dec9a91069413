"""Two formats that every package uses: values as JSON, and text that is safe to show."""
