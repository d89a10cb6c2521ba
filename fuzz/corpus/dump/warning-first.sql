mysqldump: [Warning] Using a password on the command line interface can be insecure.
/*M!999999\- enable the sandbox mode */ 
-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: d1
-- ------------------------------------------------------
-- Server version	10.11.19-MariaDB-0+deb12u1-log

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;

--
-- Sequence structure for `sq`
--

DROP SEQUENCE IF EXISTS `sq`;
CREATE SEQUENCE `sq` start with 5 minvalue 1 maxvalue 9223372036854775806 increment by 1 cache 1000 nocycle ENGINE=InnoDB;
DO SETVAL(`sq`, 5, 0);

--
-- Table structure for table `inv`
--

DROP TABLE IF EXISTS `inv`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `inv` (
  `a` int(11) DEFAULT NULL,
  `b` int(11) INVISIBLE DEFAULT 3,
  `j` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(`j`)),
  `u` uuid DEFAULT NULL,
  `i` inet6 DEFAULT NULL,
  `p` geometry DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `inv`
--

LOCK TABLES `inv` WRITE;
/*!40000 ALTER TABLE `inv` DISABLE KEYS */;
INSERT INTO `inv` (`a`, `b`, `j`, `u`, `i`, `p`) VALUES (1,2,'{\"a\":[1,2]}','6ccd780c-baba-1026-9564-5b8c656024db','::1','\0\0\0\0\0\0\0\0\0\0\0\0\0ð?\0\0\0\0\0\0\0@');
/*!40000 ALTER TABLE `inv` ENABLE KEYS */;
UNLOCK TABLES;

--
-- Table structure for table `lat`
--

DROP TABLE IF EXISTS `lat`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `lat` (
  `a` varchar(20) DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci;
/*!40101 SET character_set_client =