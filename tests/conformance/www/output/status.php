<?php

ob_start();
ob_start(fn (string $buffer) => $buffer);
$status = ob_get_status(true);
ob_end_clean();
ob_end_clean();
echo json_encode(array_map(fn ($level) => [$level['name'], $level['level'], $level['type'], $level['buffer_used']], $status));
echo json_encode(ob_list_handlers());
