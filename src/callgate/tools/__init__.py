"""Tools made from functions: their schemas, arguments, traits and results, and the toolboxes that contain them."""
